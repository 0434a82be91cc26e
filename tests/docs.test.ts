/**
 * What our pages show is true: every program in them passes the compiler, and those that say so are run.
 */
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "vitest"
import { root } from "../tools/run.ts"
import { requirements } from "./conformance/requirements.ts"
import { programsOf } from "./docs/programs.ts"
import * as Workshop from "./docs/workshop.ts"

/** The compiler reads our packages and effect for this, which takes seconds, and more on a machine that is busy. */
const patience = 60_000

const read = (page: string): string => readFileSync(join(root, page), "utf8")

/** What GitHub makes of the headings of a page. A heading that is there twice is not told apart, and we have no need of it. */
const anchorsOf = (markdown: string): ReadonlySet<string> =>
  new Set(
    Array.from(
      markdown.matchAll(/^#+ (.*)$/gm),
      ([, title]) => title!.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
    )
  )

/** A page with the block given, on line 3. */
const page = (block: string): string => `# A page\n\n${block}\n`

const pages = globSync(["*.md", "docs/**/*.md", "packages/*/{README,AGENTS}.md", "examples/*/README.md"], { cwd: root })
  .sort()
const programs = pages.flatMap((page) => programsOf(page, read(page)))

describe("the tests in our pages", async () => {
  const tests = programs.filter(({ kind }) => kind === "test")
  using workshop = Workshop.open(tests)
  for (const program of tests) await import(workshop.fileOf(program))
})

describe("our pages", () => {
  const run = programs.filter(({ kind }) => kind === "run")

  it("have programs that pass the compiler", async () => {
    const wrong = programsOf("wrong.md", page("```ts\nconst text: string = 1\n```"))
    using workshop = Workshop.open([...programs, ...wrong])
    // And the compiler did look at them: it finds the wrong one.
    assert.strictEqual(
      (await workshop.check()).trim(),
      "wrong.md:4:7: error TS2322: Type 'number' is not assignable to type 'string'."
    )
  }, patience)

  it("have programs that run to their end and print what the page says", async () => {
    using workshop = Workshop.open(run)
    const { fault, outputs } = await workshop.run()
    assert.strictEqual(fault, "")
    for (const [index, { line, output, page }] of run.entries()) {
      if (output !== undefined) assert.strictEqual(outputs[index], output, `${page}:${line}`)
    }
  }, patience)

  it("cite clauses that are there", () => {
    const known = new Set<string>(requirements.map(({ id }) => id))
    const unknown = pages.flatMap((page) =>
      Array.from(read(page).matchAll(/\b[A-Z]+-\d{2}\b/g), ([id]) => id)
        .filter((id) => !known.has(id))
        .map((id) => `${page} cites ${id}`)
    )
    assert.deepStrictEqual(unknown, [])
  })

  it("link to files that are there", () => {
    const broken = pages.flatMap((page) =>
      Array.from(read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g), ([, target]) => target!)
        .filter((target) => !existsSync(join(root, dirname(page), target)))
        .map((target) => `${page} links to ${target}`)
    )
    assert.deepStrictEqual(broken, [])
  })

  it("link to headings that are there", () => {
    const broken = pages.flatMap((page) =>
      Array.from(read(page).matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g), ([, target, anchor]) => ({
        linked: target === "" ? page : join(dirname(page), target!),
        anchor: anchor!
      }))
        .filter(({ anchor, linked }) => linked.endsWith(".md") && !anchorsOf(read(linked)).has(anchor))
        .map(({ anchor, linked }) => `${page} links to #${anchor} of ${linked}`)
    )
    assert.deepStrictEqual(broken, [])
  })
})

describe("a list in our pages", () => {
  /** What is linked to from `page`, without what leads out of it. */
  const linkedFrom = (page: string): ReadonlySet<string> =>
    new Set(Array.from(read(page).matchAll(/\]\(([^)#:\s]+)[^)]*\)/g), ([, target]) => join(dirname(page), target!)))

  const missing = (page: string, pages: ReadonlyArray<string>): ReadonlyArray<string> => {
    const linked = linkedFrom(page)
    return pages.filter((other) => other !== page && !linked.has(other))
  }

  const titleOf = (page: string): string => /^# (.*)$/m.exec(read(page))![1]!

  it("names every page of the guide", () => {
    assert.deepStrictEqual(missing("docs/guide/README.md", globSync("docs/guide/*.md", { cwd: root })), [])
  })

  it("names every decision, by its title and in order, and each has a number of its own", () => {
    const decisions = globSync("docs/adr/0*.md", { cwd: root }).sort()
    assert.deepStrictEqual(
      decisions.map((page) => page.slice("docs/adr/".length, "docs/adr/0000".length)),
      decisions.map((_, at) => String(at + 1).padStart(4, "0"))
    )
    const listed = Array.from(
      read("docs/adr/README.md").matchAll(/^- \[(\d{4}) (.*)\]\(([^)]*)\)/gm),
      ([, number, title, file]) => [number, title, file]
    )
    assert.deepStrictEqual(
      listed,
      decisions.map((page) => {
        const file = page.slice("docs/adr/".length)
        return [file.slice(0, 4), titleOf(page), file]
      })
    )
  })

  it("names every package and every example", () => {
    const folders = globSync(["packages/*/README.md", "examples/*/README.md"], { cwd: root }).map(dirname)
    assert.deepStrictEqual(missing("README.md", folders), [])
  })

  it("names every dependency", () => {
    const manifests = globSync(["package.json", "packages/*/package.json", "examples/**/package.json"], {
      cwd: root,
      exclude: (path) => path.includes("node_modules")
    })
    const dependencies = manifests.flatMap((manifest) => {
      type Manifest = { readonly [field: string]: { readonly [name: string]: string } | undefined }
      const fields = JSON.parse(read(manifest)) as Manifest
      return ["dependencies", "peerDependencies", "devDependencies"].flatMap((field) =>
        Object.keys(fields[field] ?? {})
      )
    })
    const page = read("docs/dependencies.md")
    const ours = /^@quiesce\//
    assert.deepStrictEqual(
      [...new Set(dependencies)].filter((name) => !ours.test(name) && !page.includes(`\`${name}\``)),
      []
    )
  })

  it("names every command of the repository", () => {
    const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: { readonly [name: string]: string } }
    const page = read("CONTRIBUTING.md")
    const named = (name: string): boolean => page.includes(name === "test" ? "`npm test`" : `npm run ${name}`)
    assert.deepStrictEqual(Object.keys(scripts).filter((name) => !named(name)), [])
  })
})

describe("a program in a page", () => {
  it("is on the lines it has there, with all that goes on with it", () => {
    const markdown = page(
      "```ts run\nconst a = 1\n```\n\nAnd then:\n\n```ts more\nconsole.log(a)\n```\n\n```text output\n1\n```"
    )
    const [program, ...others] = programsOf("page.md", markdown)
    assert.deepStrictEqual(others, [])
    assert.deepInclude(program, { page: "page.md", line: 3, kind: "run", output: "1\n" })
    const code = program!.source.split("\n").flatMap((text, index) => text === "" ? [] : [`${index + 1}: ${text}`])
    assert.deepStrictEqual(code, ["4: const a = 1", "10: console.log(a)"])
  })

  it("that fails is found, by its line", async () => {
    using workshop = Workshop.open(programsOf("wrong.md", page("```ts run\nthrow new Error('no')\n```")))
    const { fault } = await workshop.run()
    assert.include(fault, "wrong.md:4:7")
  })

  it("that waits for what never comes is found", async () => {
    using workshop = Workshop.open(programsOf("wrong.md", page("```ts run\nawait new Promise(() => {})\n```")))
    const { fault } = await workshop.run()
    assert.match(fault, /unsettled top-level await/)
  })

  const refused: ReadonlyArray<readonly [why: string, block: string]> = [
    ["is in another language", "```js\n```"],
    ["is indented", "  ```ts\n  ```"],
    ["is of a kind we do not know", "```ts maybe\n```"],
    ["goes on with nothing", "```ts more\n```"],
    ["is not closed", "```ts\n"],
    ["has an output and is not run", "```ts\n```\n\n```text output\n```"]
  ]
  for (const [why, block] of refused) {
    it(`is refused when it ${why}`, () => {
      assert.throws(() => programsOf("page.md", page(block)), /^page\.md:\d+: /)
    })
  }
})
