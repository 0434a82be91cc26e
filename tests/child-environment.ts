/**
 * The environment of a child process that runs or collects tests: ours, without the variables of the run that we may
 * be part of (the child would take them for its own), and with the packages resolved to their sources.
 */
export const childEnvironment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST"))),
  NODE_OPTIONS: "--conditions=@quiesce/source"
})
