/**
 * How many tests passed and failed, from the report of the runner and the way it ended.
 */

/** What is read of vitest's JSON report. */
export interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: ReadonlyArray<{
    readonly status: string
    readonly assertionResults: ReadonlyArray<{ readonly status: string }>
  }>
}

export interface Count {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/**
 * Counts what failed, also what no test says: a file that could not be loaded is a failure, and so is a runner that
 * ended badly although nothing in its report failed (an error outside every test).
 */
export const count = (report: Report, exitCode: number): Count => {
  const files = report.testResults.filter(({ assertionResults, status }) =>
    status === "failed" && assertionResults.every((test) => test.status !== "failed")
  )
  const failed = report.numFailedTests + files.length
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && exitCode !== 0 && report.testResults.length > 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests
  }
}

export const line = ({ failed, passed, skipped }: Count): string =>
  `${passed} passed, ${failed} failed` + (skipped > 0 ? `, ${skipped} skipped` : "")

/** What is wrong with a run, as a sentence, or nothing. */
export const fault = ({ failed, passed }: Count): string | undefined =>
  failed > 0 ? "tests failed (see above)" : passed === 0 ? "no test ran" : undefined
