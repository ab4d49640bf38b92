// Run with: node --test xtask/typecheck

import assert from "node:assert/strict"
import { test } from "node:test"
import { lint, parsePattern } from "./pattern.mjs"

const frontMatter = {
  id: "tidy",
  title: "Tidy",
  category: "service",
  difficulty: "beginner",
  summary: "A summary.",
  tags: "[Effect.map, tidy]",
  useWhen: "You must.",
  avoidWhen: "You need not."
}

const markdown = (changes = {}, body = ["## Example", "", "```typescript", "export const one = 1", "```"]) => {
  const fields = Object.entries({ ...frontMatter, ...changes }).filter(([, value]) => value !== undefined)
  const lines = ["---", ...fields.map(([key, value]) => `${key}: ${value}`), "---", "", "A description.", "", ...body]
  return [...lines, ...Array(60 - lines.length).fill("")].join("\n") + "\n"
}

const messages = (...files) => lint(files.map(([file, text]) => parsePattern(file, text))).map(({ message }) => message)

test("a well-formed pattern has no problems", () => {
  assert.deepEqual(messages(["service/tidy.md", markdown()]), [])
})

test("an example knows the line of the file on which its code begins", () => {
  const text = markdown()
  const [example] = parsePattern("service/tidy.md", text).examples
  assert.equal(text.split("\n")[example.line - 1], "export const one = 1")
  assert.equal(example.code, "export const one = 1\n")
})

test("fences in other languages are no examples", () => {
  const body = ["## Example", "", "```json", "{}", "```"]
  assert.match(messages(["service/tidy.md", markdown({}, body)]).join(), /fence below a heading `## Example` is missing/)
})

test("each departure from the form is reported", () => {
  const cases = [
    [{ id: "untidy" }, /differs from the file's name/],
    [{ category: "streams" }, /differs from the folder/],
    [{ difficulty: "hard" }, /hard is not one of beginner/],
    [{ summary: `${"x".repeat(200)}.` }, /more than 200 characters/],
    [{ summary: "Colons: never." }, /plain text/],
    [{ useWhen: undefined }, /useWhen is missing/],
    [{ avoidWhen: "never" }, /must end in a full stop/],
    [{ tags: "[]" }, /at least one tag/],
    [{ related: "[tidy]" }, /not related to itself/],
    [{ colour: "red" }, /colour is not a field/]
  ]
  for (const [changes, expected] of cases) {
    const found = messages(["service/tidy.md", markdown(changes)])
    assert.equal(found.length, 1, found.join("; "))
    assert.match(found[0], expected)
  }
})

test("an open fence, a fence without a language and an HTML comment are reported", () => {
  const body = ["## Example", "<!-- no -->", "```typescript", "export {}", "```", "```", "text"]
  const found = messages(["service/tidy.md", markdown({}, body)]).join("; ")
  assert.match(found, /HTML comments/)
  assert.match(found, /names its language/)
  assert.match(found, /never closed/)
})

test("an id is given once in the whole catalogue", () => {
  const found = messages(["service/tidy.md", markdown()], ["streams/tidy.md", markdown({ category: "streams" })])
  assert.deepEqual(found, ["the id tidy is taken by service/tidy.md"])
})

test("related ids are resolved once every category is there", () => {
  const categories = ["error-handling", "service", "validation", "composition", "concurrency", "streams", "resource", "scheduling"]
  const whole = categories.map((category) => [`${category}/${category}.md`, markdown({ id: category, category })])
  const lost = ["service/tidy.md", markdown({ related: "[streams, nowhere]" })]
  assert.deepEqual(messages(lost), [])
  assert.deepEqual(messages(...whole, lost), ["the related pattern nowhere does not exist"])
})
