// How many tokens an answer takes: as the network serves it, as our JSON panel, as the tightest JSON that we could think
// of, and as Markdown. Reads what `examples/tokens.rs` wrote and prints the report.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import path from 'node:path'

const [modules, file] = process.argv.slice(2)
const from = createRequire(pathToFileURL(path.join(modules, 'package.json')))
const load = (name) => import(pathToFileURL(from.resolve(name)))
const { encode } = await load('gpt-tokenizer/encoding/o200k_base')
const { default: llama } = await load('llama3-tokenizer-js')
const TOKENIZERS = [
  ['o200k_base', (text) => encode(text).length],
  ['Llama 3', (text) => llama.encode(text, { bos: false, eos: false }).length],
]

const answers = JSON.parse(fs.readFileSync(file))
const fewer = (less, than) => `${Math.round((1 - less / than) * 100)}%`
const lines = ['| answer | tokenizer | raw API | JSON panel | tightest JSON | Markdown | fewer than raw | fewer than tightest |', '|---|---|--:|--:|--:|--:|--:|--:|']
for (const { name, raw, panel, tight, markdown } of answers) {
  for (const [tokenizer, count] of TOKENIZERS) {
    const [a, b, c, d] = [raw, panel, tight, markdown].map(count)
    lines.push(`| ${name} | ${tokenizer} | ${a} | ${b} | ${c} | ${d} | ${fewer(d, a)} | ${fewer(d, c)} |`)
  }
}

// Which part of the Markdown a line belongs to.
const part = (line) => {
  if (line.startsWith('>')) return 'what people wrote'
  if (line.startsWith('#') || line.startsWith('Cursor') || line.startsWith('Results')) return 'headings and footers'
  if (/\d{4}-\d\d-\d\dT/.test(line)) return 'counts and times'
  return 'references'
}
lines.push('', '## Where the tokens go', '', '| answer | what people wrote | references | counts and times | headings and footers |', '|---|--:|--:|--:|--:|')
const [, count] = TOKENIZERS[0]
for (const { name, markdown } of answers) {
  const parts = {}
  for (const line of markdown.split('\n').filter(Boolean)) parts[part(line)] = (parts[part(line)] ?? '') + line + '\n'
  const counts = ['what people wrote', 'references', 'counts and times', 'headings and footers'].map((part) => (parts[part] ? count(parts[part]) : 0))
  lines.push(`| ${name} | ${counts.join(' | ')} |`)
}
console.log(lines.join('\n'))
