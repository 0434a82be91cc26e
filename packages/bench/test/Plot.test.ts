import { assert, describe, it } from "@effect/vitest"
import * as Plot from "../src/Plot.ts"

const picture = (curves: ReadonlyArray<Plot.Curve>) => Plot.svg({ title: "a < b", xTitle: "x", yTitle: "y", curves })

const curve = (name: string, ys: ReadonlyArray<number>): Plot.Curve => ({
  name,
  kind: "peer",
  points: ys.map((y, index) => ({ x: 10 ** index, y }))
})

const line = (svg: string) =>
  /<path class="peer" d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)"/.exec(svg)!.slice(1).map(Number)

describe("Plot", () => {
  it("draws constant cost as a level line and growing cost as a rising one", () => {
    const [, from, , to] = line(picture([curve("flat", [500, 500])]))
    assert.strictEqual(from, to)
    const [, low, , high] = line(picture([curve("steep", [500, 5000])]))
    // The y axis of a picture points down.
    assert.isBelow(high!, low!)
  })

  it("keeps the names of curves that end together apart, and inside the picture", () => {
    for (const ends of [100, 1000]) {
      const svg = picture([curve("a", [100, 1000]), ...["b", "c", "d", "e"].map((name) => curve(name, [500, ends]))])
      const heights = [...svg.matchAll(/<text class="peer" x="[\d.]+" y="([\d.]+)"/g)]
        .map(([, y]) => Number(y)).toSorted((a, b) => a - b)
      assert.strictEqual(heights.length, 5)
      for (const [index, height] of heights.slice(1).entries()) assert.isAtLeast(height - heights[index]!, 16)
      assert.isAtLeast(heights[0]!, 48)
      assert.isAtMost(heights.at(-1)!, 480 - 48)
    }
  })

  it("escapes what it writes", () => {
    const svg = picture([curve("<x>", [1, 2])])
    assert.include(svg, "a &lt; b")
    assert.include(svg, "&lt;x>")
  })
})
