// Type-checks every TypeScript fence of the catalogue against the real `effect` package, looks up the names of
// functions that the front matter mentions, and lints the form of the patterns.
//
//   node check.mjs --catalogue DIR --modules DIR
//
// DIR of --modules holds a node_modules folder made from the package.json beside this file.

import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { lint, readCatalogue } from "./pattern.mjs"

const fail = (message) => {
  console.error(message)
  process.exit(2)
}

const readArguments = () => {
  try {
    const { values } = parseArgs({ options: { catalogue: { type: "string" }, modules: { type: "string" } } })
    if (values.catalogue !== undefined && values.modules !== undefined) {
      return { catalogue: resolve(values.catalogue), modules: resolve(values.modules) }
    }
  } catch (error) {
    console.error(error.message)
  }
  return fail("usage: node check.mjs --catalogue DIR --modules DIR_WITH_node_modules")
}

const loadTypeScript = (modules) => {
  for (const name of ["typescript", "effect"]) {
    if (!existsSync(join(modules, "node_modules", name, "package.json"))) {
      fail(`the package ${name} is not installed in the modules folder: run npm install there with the package.json beside check.mjs`)
    }
  }
  return createRequire(join(modules, "package.json"))("typescript")
}

// A name such as `Effect.map` in `api` or `tags` must exist in the package, be it a value or a type.
const unknownNames = (ts, program, index, patterns) => {
  const checker = program.getTypeChecker()
  const exportsOf = (symbol) =>
    new Map(checker.getExportsOfModule(symbol).map((exported) => [exported.name, exported]))
  const resolved = (symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol)
  const modules = exportsOf(checker.getSymbolAtLocation(program.getSourceFile(index).statements[0].moduleSpecifier))
  const exists = (module, member) => {
    const symbol = modules.get(module)
    return symbol !== undefined && exportsOf(resolved(symbol)).has(member)
  }
  return patterns.flatMap(({ fieldLines, fields, file }) =>
    ["api", "tags"].flatMap((field) =>
      (fields[field] ?? []).flatMap((name) => {
        const [, module, member] = /^([A-Z]\w*)\.(\w+)$/.exec(name) ?? []
        return module === undefined || exists(module, member)
          ? []
          : [{ file, line: fieldLines[field], message: `effect has no ${name}` }]
      })
    )
  )
}

// The examples exist only in memory, but under the modules folder, so that `effect` resolves as it does for a user.
const typeCheck = (ts, modules, patterns, examples) => {
  const options = {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    moduleDetection: ts.ModuleDetectionKind.Force,
    skipLibCheck: true,
    types: []
  }
  // Each example gets a folder of its own, lest one import another.
  const folder = `${modules.replaceAll("\\", "/")}/examples`
  const byPath = new Map(examples.map((example, index) => [`${folder}/${index}/example.ts`, example]))
  const index = `${folder}/index.ts`
  const files = new Map([[index, 'export * from "effect"\n']])
  for (const [path, example] of byPath) files.set(path, example.code)
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.getCurrentDirectory = () => modules
  host.fileExists = (path) => files.has(path) || fileExists.call(host, path)
  host.readFile = (path) => files.get(path) ?? readFile.call(host, path)
  host.getSourceFile = (path, languageVersion, ...rest) => {
    const code = files.get(path)
    return code === undefined
      ? getSourceFile.call(host, path, languageVersion, ...rest)
      : ts.createSourceFile(path, code, languageVersion)
  }
  const program = ts.createProgram([...files.keys()], options, host)
  const general = [...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics()].map((diagnostic) => ({
    file: "check.mjs",
    line: 1,
    message: ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n  ")
  }))
  const found = [...byPath].flatMap(([path, example]) => {
    const source = program.getSourceFile(path)
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map((diagnostic) => ({
      file: example.file,
      line: example.line + source.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line,
      message: ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n  ")
    }))
  })
  return [...general, ...found, ...unknownNames(ts, program, index, patterns)]
}

const { catalogue, modules } = readArguments()
const ts = loadTypeScript(modules)
const patterns = readCatalogue(catalogue)
if (patterns.length === 0) fail("there is no pattern in the catalogue folder")
const examples = patterns.flatMap((pattern) => pattern.examples)
const problems = [...lint(patterns), ...typeCheck(ts, modules, patterns, examples)]
for (const { file, line, message } of problems) console.log(`${file}:${line}: ${message}`)
if (problems.length > 0) {
  console.log(`${problems.length} problems in ${new Set(problems.map(({ file }) => file)).size} files`)
  process.exit(1)
}
console.log(`${examples.length} examples in ${patterns.length} patterns type-check`)
