/** Tries the mutants of this repository (`npm run mutants`, or `npm run mutants -- CALL-04` for some of them). */
import { repository } from "../conformance/collect.ts"
import { mutants } from "./index.ts"
import { main } from "./main.ts"
import * as Scratch from "./Scratch.ts"

main(mutants, Scratch.repositoryAt(repository), process.argv[2] ?? "")
