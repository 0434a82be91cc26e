import { assert, describe, it } from "vitest"
import { count, fault, line, type Report } from "../../tools/count.ts"

const report = (numbers: Partial<Report>): Report => ({
  numPassedTests: 0,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: [],
  ...numbers
})

const file = (status: string, ...tests: ReadonlyArray<string>): Report["testResults"][number] => ({
  status,
  assertionResults: tests.map((test) => ({ status: test }))
})

describe("the count of a test run", () => {
  it("is the runner's own", () => {
    const counted = count(report({ numPassedTests: 12, testResults: [file("passed", "passed")] }), 0)
    assert.strictEqual(line(counted), "12 passed, 0 failed")
    assert.isUndefined(fault(counted))
  })

  it("names skipped tests when there are any", () => {
    assert.strictEqual(
      line(count(report({ numPassedTests: 1, numPendingTests: 2, numTodoTests: 1 }), 0)),
      "1 passed, 0 failed, 3 skipped"
    )
  })

  it("is a failure when a test failed", () => {
    const counted = count(
      report({ numPassedTests: 1, numFailedTests: 2, testResults: [file("failed", "passed", "failed", "failed")] }),
      1
    )
    assert.strictEqual(line(counted), "1 passed, 2 failed")
    assert.strictEqual(fault(counted), "tests failed (see above)")
  })

  it("counts a file that could not be loaded as one failure", () => {
    const counted = count(report({ numPassedTests: 1, testResults: [file("passed", "passed"), file("failed")] }), 1)
    assert.strictEqual(line(counted), "1 passed, 1 failed")
  })

  it("counts a file whose hook failed after its tests passed as one failure", () => {
    assert.strictEqual(count(report({ numPassedTests: 1, testResults: [file("failed", "passed")] }), 1).failed, 1)
  })

  it("counts an error outside every test as one failure", () => {
    const counted = count(report({ numPassedTests: 3, testResults: [file("passed", "passed")] }), 1)
    assert.strictEqual(line(counted), "3 passed, 1 failed")
    assert.strictEqual(fault(counted), "tests failed (see above)")
  })

  it("is a failure when no test ran, however the runner ended", () => {
    assert.strictEqual(fault(count(report({}), 0)), "no test ran")
    assert.strictEqual(fault(count(report({}), 1)), "no test ran")
    assert.strictEqual(fault(count(report({ numPendingTests: 5 }), 0)), "no test ran")
  })
})
