import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import * as Measure from "../src/Measure.ts"

afterEach(() => {
  vi.restoreAllMocks()
})

const subject = (name: string, log: Array<string>): Measure.Subject => ({
  name,
  kind: "floor",
  unit: "ns",
  lacks: "",
  open: async () => ({
    measure: async () => log.push(`measure ${name}`),
    close: async () => void log.push(`close ${name}`)
  })
})

describe("Measure", () => {
  it("interleaves subjects, forwards and backwards in turn", async () => {
    const log: Array<string> = []
    const series = await Measure.measure([subject("a", log), subject("b", log)], { rounds: 2, warmUpMillis: 0 }, 0.1)
    assert.strictEqual(log.join(", "), "measure a, measure b, measure b, measure a, close a, close b")
    // Each value is the length of the log then.
    assert.deepStrictEqual(series.map(({ rounds }) => rounds), [[1, 4], [2, 3]])
  })

  it("drops the whole rounds of the warm-up", async () => {
    const log: Array<string> = []
    let now = 0
    vi.spyOn(performance, "now").mockImplementation(() => now++)
    const series = await Measure.measure([subject("a", log), subject("b", log)], { rounds: 2, warmUpMillis: 1 }, 0.1)
    assert.deepStrictEqual(series.map(({ rounds }) => rounds), [[3, 6], [4, 5]])
  })

  it("goes on while the two orders disagree, and not for ever", async () => {
    const rounds = async (values: ReadonlyArray<number>) => {
      let measured = 0
      const [series] = await Measure.measure(
        [
          {
            ...subject("a", []),
            against: { name: "floor" },
            open: async () => ({ measure: async () => values[measured++] ?? 100, close: async () => {} })
          },
          { ...subject("floor", []), open: async () => ({ measure: async () => 100, close: async () => {} }) }
        ],
        { rounds: 4, warmUpMillis: 0 },
        0.1
      )
      return series!.rounds.length
    }
    assert.strictEqual(await rounds([100, 104, 100, 104]), 4)
    assert.strictEqual(await rounds([100, 120, 100, 100]), 8)
    assert.strictEqual(await rounds(Array.from({ length: 100 }, (_, index) => index % 2 === 0 ? 120 : 100)), 16)
  })

  it("runs one call after the other, or all of a row at once", async () => {
    let running = 0
    let most = 0
    const call = async () => {
      most = Math.max(most, ++running)
      await Promise.resolve()
      running--
    }
    await Measure.sequentially(call)(5)
    assert.strictEqual(most, 1)
    await Measure.atOnce(call, 7)(2)
    assert.strictEqual(most, 7)
  })

  it("counts every operation of a row, and repeats the row until a batch is long enough", async () => {
    let now = 0
    vi.spyOn(performance, "now").mockImplementation(() => now)
    const counts: Array<number> = []
    const run = async (n: number) => {
      counts.push(n)
      now += n * 0.05
    }
    const instrument = Measure.perOperation({ run, width: 10, close: async () => {} })
    // A row of ten that takes 0.05 ms: 5 µs each.
    for (let i = 0; i < 4; i++) assert.closeTo(await instrument.measure(), 5000, 1e-6)
    assert.deepStrictEqual(counts, [1, 10, 100, 100])
  })
})
