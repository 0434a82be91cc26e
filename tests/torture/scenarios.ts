/**
 * Commands that do what commands in the wild do to whoever wants to end them. Everything they start has `mark` in its
 * command line, and every loop and storm among them is bounded.
 */

export interface Scenario {
  readonly name: string
  /** A script for /bin/sh; `$0` of everything it starts is not relied upon. */
  readonly script: (mark: string) => string
  /** It says `ready` once everything is in place. */
  readonly saysReady: boolean
}

const sleep = (mark: string) => `sleep ${mark}`
const stubborn = (mark: string) => `trap '' TERM INT HUP; while :; do sleep 0.01; done; : ${mark}`

/** A tree of three levels, each with a sleeper and `last` at its ends. */
const tree = (mark: string, last: string) =>
  `(${sleep(mark)} & (${sleep(mark)} & (${sleep(mark)} & ${last}) & wait) & wait) &`

const storm = (mark: string, size: number) => `i=0; while [ $i -lt ${size} ]; do ${sleep(mark)} & i=$((i+1)); done`

/** Passes itself on: each process starts the next one and ends, `hops` times, and the last one stays. */
const hopper = (mark: string, hops: number, how: string) =>
  `hop='if [ $1 -gt 0 ]; then ${how} sh -c "$0" "$0" $(($1 - 1)) ${mark} & else exec ${sleep(mark)}; fi'; ` +
  `sh -c "$hop" "$hop" ${hops} ${mark} &`

const ready = "echo ready;"

const scenarios: { readonly [name: string]: (mark: string) => string } = {
  "a tree of depth 3": (mark) => `${tree(mark, sleep(mark))} ${ready} wait`,
  "a tree of depth 3 whose leaves ignore SIGTERM": (mark) => `${tree(mark, stubborn(mark))} ${ready} wait`,
  "a tree of depth 3 that ignores SIGTERM": (mark) => `trap '' TERM; ${tree(mark, sleep(mark))} ${ready} wait`,
  "a leader that obeys and a grandchild that does not": (mark) => `sh -c "${stubborn(mark)}" & ${ready} wait`,
  "a leader that cleans up for a while": (mark) =>
    `trap 'sleep 0.05; exit 0' TERM; ${sleep(mark)} & ${ready} wait; wait`,
  "a double fork": (mark) => `(${sleep(mark)} &) ; ${ready} ${sleep(mark)}`,
  "a double fork that outlives its leader": (mark) => `(${sleep(mark)} >/dev/null 2>&1 &) ; ${ready} exit 0`,
  "a session of its own": (mark) => `setsid ${sleep(mark)} & ${ready} wait`,
  "a session of its own that ignores SIGTERM": (mark) => `setsid sh -c "${stubborn(mark)}" & ${ready} wait`,
  "sessions within sessions": (mark) =>
    `setsid sh -c '${sleep(mark)} & setsid sh -c "${sleep(mark)} & (setsid ${
      sleep(mark)
    } &) ; wait" & wait' & ${ready} wait`,
  "a daemon": (mark) => `(setsid ${sleep(mark)} >/dev/null 2>&1 </dev/null &) ; ${ready} exit 0`,
  "a daemon with a cleared environment": (mark) =>
    `(env -i setsid ${sleep(mark)} >/dev/null 2>&1 </dev/null &) ; ${ready} exit 0`,
  "job control": (mark) => `set -m; ${sleep(mark)} & ${sleep(mark)} & ${ready} wait`,
  "a pipe held by a descendant": (mark) => `setsid ${sleep(mark)} & ${ready} exit 0`,
  "a pipeline": (mark) => `${sleep(mark)} | ${sleep(mark)} | cat & ${ready} wait`,
  "a storm": (mark) => `${storm(mark, 60)}; ${ready} wait`,
  "a storm in a session of its own": (mark) => `setsid sh -c '${storm(mark, 40)}; wait' & ${ready} wait`,
  "a storm of sessions": (mark) =>
    `i=0; while [ $i -lt 20 ]; do setsid ${sleep(mark)} & i=$((i+1)); done; ${ready} wait`,
  "one that passes itself on": (mark) => `${hopper(mark, 20, "")} ${ready} wait`,
  "one that passes itself on from session to session": (mark) => `${hopper(mark, 12, "setsid")} ${ready} wait`,
  zombies: (mark) => `true & true & ${ready} exec ${sleep(mark)}`,
  "a stopped child": (mark) => `${sleep(mark)} & kill -STOP $!; ${ready} wait`,
  "a stopped leader": (mark) => `${sleep(mark)} & ${ready} kill -STOP $$; wait`,
  "huge output": (mark) => `${ready} while :; do head -c 1000000 /dev/zero; done; : ${mark}`,
  "output without a newline": (mark) => `${ready} while :; do printf xxxxxxxxxxxxxxxx; done; : ${mark}`,
  "binary output": (mark) => `${ready} head -c 500000 /dev/urandom; ${sleep(mark)}`,
  "stdout closed early": (mark) => `${ready} exec >&- 2>&-; ${sleep(mark)}`,
  "every file closed": (mark) => `${ready} exec >&- 2>&- 3>&- 4>&-; ${sleep(mark)}`,
  "an exit of its own": (mark) => `${ready} : ${mark}; exit 3`,
  "a signal of its own": (mark) => `${ready} : ${mark}; kill -USR1 $$`
}

export const all: ReadonlyArray<Scenario> = Object.entries(scenarios).map(([name, script]) => ({
  name,
  script,
  saysReady: true
}))
