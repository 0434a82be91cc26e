import { defineConfig } from "vitest/config"

// Tests run straight from the sources: the packages' exports map this condition to `src`.
const conditions = ["@quiesce/source", "node", "import", "default"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    // One worker for each core of the smallest machine this runs on: by default the runner keeps one, and idles.
    maxWorkers: 2,
    include: ["packages/*/test/**/*.test.ts", "tests/**/*.test.ts"],
    // A test on virtual time takes milliseconds; the bound leaves room for the real processes of `it.live`.
    testTimeout: 20_000
  }
})
