// Reads the pattern files of a catalogue and says what is wrong with their form.
// Knows nothing of TypeScript: the examples are handed on as text with their line numbers.

import { readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join, relative, sep } from "node:path"

const DIFFICULTIES = ["beginner", "intermediate", "advanced"]
const CATEGORIES = [
  "error-handling",
  "service",
  "validation",
  "composition",
  "concurrency",
  "streams",
  "resource",
  "scheduling"
]
const TEXT_FIELDS = ["id", "title", "category", "difficulty", "summary", "useWhen", "avoidWhen"]
const LIST_FIELDS = ["tags", "api", "useCases", "related"]
const OPTIONAL_FIELDS = ["api", "useCases", "related"]
const SUMMARY_LIMIT = 200
const SHORTEST = 50
const LONGEST = 130

/** All Markdown files below a folder, as sorted paths relative to it. */
export const markdownFiles = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
    .map((entry) => relative(folder, join(entry.parentPath ?? entry.path, entry.name)))
    .sort()

/** Every pattern of a catalogue folder. */
export const readCatalogue = (folder) =>
  markdownFiles(folder).map((file) => parsePattern(file.split(sep).join("/"), readFileSync(join(folder, file), "utf8")))

/**
 * Takes a file apart: `fields` (front matter), `examples` (TypeScript fences) and `problems` found on the way.
 * Lines count from 1; an example's `line` is that of its first line of code.
 */
export const parsePattern = (file, text) => {
  const lines = text.replace(/\r\n/g, "\n").split("\n")
  if (lines.at(-1) === "") lines.pop()
  const pattern = { file, lineCount: lines.length, fields: {}, fieldLines: {}, examples: [], problems: [] }
  const bodyStart = parseFrontMatter(pattern, lines)
  parseBody(pattern, lines, bodyStart)
  return pattern
}

const problem = (pattern, line, message) => pattern.problems.push({ file: pattern.file, line, message })

const parseFrontMatter = (pattern, lines) => {
  const end = lines.indexOf("---", 1)
  if (lines[0] !== "---" || end === -1) {
    problem(pattern, 1, "the file must begin with front matter between two lines of ---")
    return 0
  }
  for (let index = 1; index < end; index++) {
    const [, key, value] = /^([A-Za-z]+): (.+)$/.exec(lines[index]) ?? []
    const line = index + 1
    if (key === undefined) {
      problem(pattern, line, "front matter has one `key: value` a line")
    } else if (key in pattern.fields) {
      problem(pattern, line, `${key} is given twice`)
    } else if (LIST_FIELDS.includes(key)) {
      const inner = /^\[(.*)\]$/.exec(value)?.[1]
      if (inner === undefined) problem(pattern, line, `${key} must be a list in brackets`)
      pattern.fields[key] = (inner ?? "").split(",").map((item) => item.trim()).filter((item) => item !== "")
      pattern.fieldLines[key] = line
    } else if (TEXT_FIELDS.includes(key)) {
      // Plain scalars only, so that a reader by lines and a reader of YAML understand the same.
      if (/: | #|^[-?:,[\]{}#&*!|>'"%@`]|\s$/.test(value)) {
        problem(pattern, line, `${key} must be plain text: no ": ", no " #", no leading punctuation`)
      }
      pattern.fields[key] = value
      pattern.fieldLines[key] = line
    } else {
      problem(pattern, line, `${key} is not a field of a pattern`)
    }
  }
  return end + 1
}

const parseBody = (pattern, lines, start) => {
  let fence
  let section
  let described = false
  for (let index = start; index < lines.length; index++) {
    const text = lines[index]
    const line = index + 1
    if (fence !== undefined) {
      if (text.trimEnd() === fence.mark) {
        if (fence.typescript) {
          pattern.examples.push({
            file: pattern.file,
            section,
            line: fence.line + 1,
            code: lines.slice(fence.line, index).join("\n") + "\n"
          })
        }
        fence = undefined
      }
      continue
    }
    if (text.includes("<!--")) problem(pattern, line, "a pattern has no HTML comments")
    const opening = /^(\s*)(`{3,})(\S*)\s*$/.exec(text)
    if (opening !== null) {
      const [, indent, mark, language] = opening
      if (indent !== "") problem(pattern, line, "a fence begins at the start of its line")
      if (language === "") problem(pattern, line, "a fence names its language")
      if (section === undefined) problem(pattern, line, "a fence belongs below a heading")
      fence = { mark, line, typescript: language === "typescript" || language === "ts" }
    } else if (/^#/.test(text)) {
      if (!/^##+ \S/.test(text)) problem(pattern, line, "headings begin with ## (the title is in the front matter)")
      section = text.replace(/^#+\s*/, "")
    } else if (section === undefined && text.trim() !== "") {
      described = true
    }
  }
  if (fence !== undefined) problem(pattern, fence.line, "this fence is never closed")
  if (!described) problem(pattern, start + 1, "the description is missing: text before the first heading")
}

/** Everything that is wrong with the form of the patterns, those found while parsing included. */
export const lint = (patterns) => {
  const problems = patterns.flatMap((pattern) => [...pattern.problems, ...lintPattern(pattern)])
  const byId = new Map()
  for (const pattern of patterns) {
    const { id } = pattern.fields
    if (id === undefined) continue
    const first = byId.get(id)
    if (first === undefined) byId.set(id, pattern)
    else problems.push(at(pattern, "id", `the id ${id} is taken by ${first.file}`))
  }
  // A part of the catalogue may be checked alone; its ids can then point outside of it.
  const folders = new Set(patterns.map((pattern) => folderOf(pattern.file)))
  if (CATEGORIES.every((category) => folders.has(category))) {
    for (const pattern of patterns) {
      for (const id of pattern.fields.related ?? []) {
        if (!byId.has(id)) problems.push(at(pattern, "related", `the related pattern ${id} does not exist`))
      }
    }
  }
  return problems
}

const folderOf = (file) => basename(dirname(file))

const at = (pattern, field, message) => ({ file: pattern.file, line: pattern.fieldLines[field] ?? 1, message })

const lintPattern = (pattern) => {
  const { fields } = pattern
  const problems = []
  const check = (holds, field, message) => {
    if (!holds) problems.push(at(pattern, field, message))
  }
  for (const field of [...TEXT_FIELDS, ...LIST_FIELDS]) {
    check(field in fields || OPTIONAL_FIELDS.includes(field), field, `${field} is missing`)
  }
  const { id, category, difficulty, summary, useWhen, avoidWhen, tags, related = [] } = fields
  const name = basename(pattern.file, ".md")
  const folder = folderOf(pattern.file)
  check(id === undefined || id === name, "id", `the id ${id} differs from the file's name, ${name}`)
  // Checking one category's own folder leaves nothing to compare with.
  check(category === undefined || folder === "." || category === folder, "category", `the category ${category} differs from the folder, ${folder}`)
  check(category === undefined || CATEGORIES.includes(category), "category", `${category} is not one of ${CATEGORIES.join(", ")}`)
  check(difficulty === undefined || DIFFICULTIES.includes(difficulty), "difficulty", `${difficulty} is not one of ${DIFFICULTIES.join(", ")}`)
  check(summary === undefined || [...summary].length <= SUMMARY_LIMIT, "summary", `the summary has more than ${SUMMARY_LIMIT} characters`)
  for (const [field, value] of Object.entries({ summary, useWhen, avoidWhen })) {
    check(value === undefined || value.endsWith("."), field, `${field} must end in a full stop`)
  }
  check(tags === undefined || tags.length > 0, "tags", "a pattern has at least one tag")
  check(!related.includes(id), "related", "a pattern is not related to itself")
  check(new Set(related).size === related.length, "related", "a related pattern is named twice")
  check(
    pattern.examples.some((example) => /^Example\b/.test(example.section ?? "")),
    "id",
    "a TypeScript fence below a heading `## Example` is missing"
  )
  check(
    pattern.lineCount >= SHORTEST && pattern.lineCount <= LONGEST,
    "id",
    `the file has ${pattern.lineCount} lines, not ${SHORTEST} to ${LONGEST}`
  )
  return problems
}
