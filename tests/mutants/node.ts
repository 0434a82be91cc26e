/** The mutants of `packages/node`. */
import type { Mutant } from "./Mutant.ts"

const src = "packages/node/src"
const test = "packages/node/test"

const process: ReadonlyArray<Mutant> = [
  {
    name: "the child stays in the group and the session of its host",
    clause: "NODE-01",
    file: `${src}/internal/child.ts`,
    find: "detached: true",
    replace: "detached: false",
    test: { file: `${test}/Process.test.ts`, title: "it leads a session and a group of its own" }
  },
  {
    name: "a program is left with half its input as if that were all",
    clause: "NODE-05",
    file: `${src}/Process.ts`,
    find: "if (!Exit.isFailure(exit) || !Exit.hasDies(exit)) return Feed.end(stdin)",
    replace: "if (!Exit.isFailure(exit) || Exit.hasDies(exit)) return Feed.end(stdin)",
    test: { file: `${test}/Process.stream.test.ts`, title: "that dies stops the command" }
  },
  {
    name: "SIGTERM is taken for enough",
    clause: "NODE-01",
    file: `${src}/internal/ending.ts`,
    find: "late ? \"SIGKILL\" : \"SIGTERM\"",
    replace: "\"SIGTERM\"",
    test: { file: `${test}/internal/ending.test.ts`, title: "asks the group once, waits the grace" }
  },
  {
    name: "the grace is not waited",
    clause: "NODE-01",
    file: `${src}/internal/ending.ts`,
    find: "const late = time >= killAt",
    replace: "const late = true",
    test: {
      file: `${test}/Process.cancel.test.ts`,
      title: "who ignores SIGTERM is killed after the grace and not before"
    }
  },
  {
    name: "a stopped process is left stopped",
    clause: "NODE-01",
    file: `${src}/internal/ending.ts`,
    find: "row.state === \"T\"",
    replace: "false",
    test: { file: `${test}/Process.cancel.test.ts`, title: "a stopped process is continued" }
  },
  {
    name: "zombies count as alive",
    clause: "NODE-02",
    file: `${src}/internal/lineage.ts`,
    find: "row.state !== \"Z\" && ",
    replace: "",
    test: { file: `${test}/internal/ending.test.ts`, title: "takes a group of zombies for empty" }
  },
  {
    name: "the end of the leader is taken for the end of its group",
    clause: ["NODE-01", "NODE-02"],
    file: `${src}/internal/ending.ts`,
    find: "const targets = seen.alive.filter((row) => !options.spares(row))",
    replace: "const targets = seen.alive.filter((row) => row.pid === lineage.leader.pid)",
    test: { file: `${test}/Process.cancel.test.ts`, title: "a leader that obeys while its grandchild does not" }
  },
  {
    name: "a table that cannot be read is taken for empty",
    clause: "NODE-02",
    file: `${src}/internal/ending.ts`,
    find: "(targets.length === 0 && seen.isComplete) ||",
    replace: "targets.length === 0 ||",
    test: { file: `${test}/internal/ending.test.ts`, title: "does not take a table it cannot read for an empty one" }
  },
  {
    name: "an incomplete table makes the known forgotten",
    clause: "NODE-02",
    file: `${src}/internal/ending.ts`,
    find: "if (isComplete) replace(lineage, seen.ours)",
    replace: "if (true) replace(lineage, seen.ours)",
    test: { file: `${test}/internal/ending.test.ts`, title: "does not take a table it cannot read for an empty one" }
  },
  {
    name: "orphans are not looked at",
    clause: "NODE-02",
    file: `${src}/internal/census.ts`,
    find: "if (row !== undefined && row.started >= lineage.leader.started) open.push(pid)",
    replace: "void row",
    test: { file: `${test}/internal/lineage.test.ts`, title: "law: a census of those who could be ours finds the same" }
  },
  {
    name: "a census is one look",
    clause: "NODE-02",
    file: `${src}/internal/census.ts`,
    find: "const rounds = 5",
    replace: "const rounds = 1",
    test: { file: `${test}/internal/census.test.ts`, title: "looks again while somebody passes itself on" }
  },
  {
    name: "a list of children is believed at once",
    clause: "NODE-02",
    file: `${src}/internal/census.ts`,
    find: "if (!isCertain) isQuiet = false",
    replace: "void isCertain",
    test: { file: `${test}/internal/census.test.ts`, title: "says so where it never comes to rest" }
  },
  {
    name: "a leader of which nothing is known is waited for",
    clause: "NODE-02",
    file: `${src}/internal/supervisor.ts`,
    find: "const isDead = ended.isProved && ",
    replace: "const isDead = ",
    test: { file: `${test}/Process.supervisor.test.ts`, title: "on a machine that cannot be looked at" }
  },
  {
    name: "newcomers are never asked",
    clause: ["NODE-01", "NODE-02"],
    file: `${src}/internal/ending.ts`,
    find: "if (!late && isAsked) continue",
    replace: "if (!late && asked.size > members.length) continue",
    test: { file: `${test}/internal/ending.test.ts`, title: "asks a newcomer in a new group too" }
  },
  {
    name: "the wait behind SIGKILL has no bound",
    clause: "NODE-02",
    file: `${src}/internal/ending.ts`,
    find: "export const killWait = Duration.seconds(5)",
    replace: "export const killWait = Duration.seconds(50)",
    test: { file: `${test}/internal/ending.test.ts`, title: "names who survives SIGKILL" }
  },
  {
    name: "the environment carries no mark",
    clause: "NODE-02",
    file: `${src}/internal/environment.ts`,
    find: "host[markName] === undefined ? mark : `${host[markName]}:${mark}`",
    replace: "\"\"",
    test: {
      file: `${test}/Process.descendants.test.ts`,
      title: "its parent, the session and every file, but not its environment is found"
    }
  },
  {
    name: "nobody asks who holds the pipes",
    clause: "NODE-02",
    file: `${src}/internal/supervisor.ts`,
    find: "(row: Lineage.Row) => host.holds(row, child.files)",
    replace: "() => \"Lacks\" as const",
    test: {
      file: `${test}/Process.descendants.test.ts`,
      title: "its parent, the session, its environment and its output is found"
    }
  },
  {
    name: "a command's processes inherit no file that is known beforehand",
    clause: "NODE-02",
    file: `${src}/internal/child.ts`,
    find: "heirloom?.descriptor ?? \"ignore\"",
    replace: "\"ignore\"",
    test: {
      file: `${test}/Process.descendants.test.ts`,
      title: "cleared its environment, and whose program was gone before its pipes were read, is found"
    }
  },
  {
    name: "a held pipe is no reason to doubt",
    clause: "NODE-02",
    file: `${src}/internal/supervisor.ts`,
    find: "if (isHeld && named.length === 0) {",
    replace: "if (false) {",
    test: {
      file: `${test}/Process.descendants.test.ts`,
      title: "and cannot be found is reported, for it holds the pipes"
    }
  },
  {
    name: "the session is not looked at when its leader is reaped",
    clause: ["NODE-02", "NODE-04"],
    file: `${src}/internal/child.ts`,
    find: "if (host.kill(-pid, 0) !== \"Gone\") Lineage.remember(lineage, host.inSession(row.session))",
    replace: "",
    test: { file: `${test}/Process.descendants.test.ts`, title: "also when it cleared its environment" }
  },
  {
    name: "pid alone names a process",
    clause: "NODE-04",
    file: `${src}/internal/lineage.ts`,
    find: "a.pid === b.pid && a.started === b.started",
    replace: "a.pid === b.pid",
    test: { file: `${test}/internal/lineage.test.ts`, title: "a pid that was given away again is somebody else" }
  },
  {
    name: "the number of a session is believed for ever",
    clause: "NODE-04",
    file: `${src}/internal/lineage.ts`,
    find: "const sessions = new Set<number>()",
    replace: "const sessions = new Set<number>([leader.session])",
    test: { file: `${test}/internal/lineage.test.ts`, title: "the number of the command's session proves nothing" }
  },
  {
    name: "whoever carries the mark is ours",
    clause: "NODE-04",
    file: `${src}/internal/lineage.ts`,
    find: "const orphaned = orphanages.has(row.ppid) && !strange.has(row.session)",
    replace: "const orphaned = true",
    test: {
      file: `${test}/internal/lineage.test.ts`,
      title: "who carries the mark but has a parent that is a stranger is a suspect"
    }
  },
  {
    name: "kinship is not followed",
    clause: "NODE-02",
    file: `${src}/internal/lineage.ts`,
    find: "ours.has(row.ppid) || sessions",
    replace: "sessions",
    test: {
      file: `${test}/Process.descendants.test.ts`,
      title: "the session, its environment and every file, but not its parent is found"
    }
  },
  {
    name: "sessions are not followed",
    clause: "NODE-02",
    file: `${src}/internal/lineage.ts`,
    find: "(ours.has(row.ppid) || sessions.has(row.session))",
    replace: "ours.has(row.ppid)",
    test: { file: `${test}/internal/lineage.test.ts`, title: "law: finds whoever stays in the session" }
  },
  {
    name: "a group is signalled without a proof",
    clause: "NODE-04",
    file: `${src}/internal/signal.ts`,
    find: "return proved ? host.kill(-pgrp, signal) : \"Gone\"",
    replace: "return proved || true ? host.kill(-pgrp, signal) : \"Gone\"",
    test: { file: `${test}/internal/signal.test.ts`, title: "that nobody is in any more is not sent" }
  },
  {
    name: "our own group is a group like any other",
    clause: "NODE-04",
    file: `${src}/internal/signal.ts`,
    find: " || pgrp === self.pgrp",
    replace: "",
    test: { file: `${test}/internal/signal.test.ts`, title: "a signal to a group > of this process is not sent" }
  },
  {
    name: "0 and 1 are numbers like any other",
    clause: "NODE-04",
    file: `${src}/internal/signal.ts`,
    find: "Number.isInteger(pid) && pid > 1",
    replace: "true",
    test: { file: `${test}/internal/signal.test.ts`, title: "whose number is 0, 1, -1 or our own" }
  },
  {
    name: "a member that left the group proves it",
    clause: "NODE-04",
    file: `${src}/internal/signal.ts`,
    find: "now?.pgrp === pgrp && ",
    replace: "now !== undefined && ",
    test: { file: `${test}/internal/signal.test.ts`, title: "that the member has left is not sent" }
  },
  {
    name: "a zombie proves its group",
    clause: "NODE-04",
    file: `${src}/internal/signal.ts`,
    find: "return isThere(now, member) &&",
    replace: "return now?.started === member.started &&",
    test: { file: `${test}/internal/signal.test.ts`, title: "that only zombies are in is not sent" }
  },
  {
    name: "output is read for as long as somebody holds it",
    clause: "NODE-03",
    file: `${src}/internal/supervisor.ts`,
    find: "for (const pipe of pipes) pipe.destroy()",
    replace: "for (const pipe of pipes) yield* pipe.closed",
    test: {
      file: `${test}/Process.descendants.test.ts`,
      title: "runs on and is named in the residue where it is not to be ended"
    }
  },
  {
    name: "output behind the exit is not read",
    clause: "NODE-03",
    file: `${src}/internal/supervisor.ts`,
    find: "what._tag === \"Ended\" ? closedWithin([stdout, stderr], command.drain) : undefined",
    replace: "undefined",
    test: { file: `${test}/Process.descendants.test.ts`, title: "may write to the end what the program gave it" }
  },
  {
    name: "all output is kept",
    clause: "NODE-03",
    file: `${src}/internal/keep.ts`,
    find: "const headLimit = Math.ceil(maxBytes / 2)",
    replace: "const headLimit = Number.MAX_SAFE_INTEGER",
    test: { file: `${test}/Process.output.test.ts`, title: "says in the text how much is missing" }
  },
  {
    name: "a failed start is no outcome",
    clause: "NODE-04",
    file: `${src}/Process.ts`,
    find: "if (Result.isFailure(attempt)) return Outcome.notStarted(attempt.failure)",
    replace: "if (Result.isFailure(attempt)) return yield* Effect.die(attempt.failure)",
    test: { file: `${test}/Process.test.ts`, title: "says why [NODE-04" }
  },
  {
    name: "the pipes of a failed start are left to close by themselves",
    clause: "NODE-04",
    file: `${src}/internal/child.ts`,
    find: "else child.on(\"close\", () => failed(error))",
    replace: "else failed(error)",
    test: { file: `${test}/Process.storm.test.ts`, title: "has closed the pipes that were made for it when it says so" }
  },
  {
    name: "exit code 0 after a stop is a success",
    clause: "NODE-05",
    file: `${src}/internal/supervisor.ts`,
    find: "return outcomeOf(what, exit, {",
    replace: "return outcomeOf(exit?._tag === \"Code\" ? { _tag: \"Ended\", exit } : what, exit, {",
    test: { file: `${test}/Process.cancel.test.ts`, title: "a program that answers SIGTERM with exit code 0" }
  },
  {
    name: "the child inherits the environment of its host",
    clause: "NODE-05",
    file: `${src}/internal/environment.ts`,
    find: "value !== undefined && (allowed.has(known) || known.startsWith(\"LC_\"))",
    replace: "value !== undefined",
    test: { file: `${test}/Process.test.ts`, title: "its environment holds the short list" }
  },
  {
    name: "standard input is open by default",
    clause: "NODE-05",
    file: `${src}/internal/child.ts`,
    find: "options.stdin === \"closed\" ? \"ignore\" : \"pipe\"",
    replace: "\"pipe\"",
    test: { file: `${test}/Process.test.ts`, title: "its standard input is closed unless something is given" }
  }
]

const guardian: ReadonlyArray<Mutant> = [
  {
    name: "a command is told of only once it runs",
    clause: ["NODE-01", "NODE-02"],
    file: `${src}/internal/supervisor.ts`,
    find: "  watch.announce(mark)\n",
    replace: "",
    test: { file: `${test}/Guardian.test.ts`, title: "a guardian hears of a command before it starts" }
  },
  {
    name: "a command that was only announced is forgotten by its guardian",
    clause: ["NODE-01", "NODE-02"],
    file: `${src}/internal/guardian/main.ts`,
    find: "watched.set(notice.mark, undefined)",
    replace: "",
    test: { file: `${test}/Guardian.test.ts`, title: "a command that was announced and not yet told of" }
  },
  {
    name: "half a notice ends the guardian",
    clause: ["NODE-01", "NODE-02"],
    file: `${src}/internal/guardian/main.ts`,
    find: "if (Option.isSome(notice)) hear(notice.value)",
    replace: "hear(Option.getOrThrow(notice))",
    test: { file: `${test}/Guardian.test.ts`, title: "a command that was announced and not yet told of" }
  },
  {
    name: "a guardian is not told of commands",
    clause: ["NODE-01", "NODE-02"],
    file: `${src}/internal/supervisor.ts`,
    find: "  watch.begin(lineage)\n",
    replace: "",
    test: {
      file: `${test}/Guardian.test.ts`,
      title: "a guardian hears of a command before it starts, and once more when it is over"
    }
  }
]

const files: ReadonlyArray<Mutant> = [
  {
    name: "a file that is replaced keeps the right to run as its owner",
    clause: "NODE-09",
    file: `${src}/Files.ts`,
    find: "stats.mode & 0o777\n",
    replace: "stats.mode & 0o7777\n",
    test: { file: `${test}/Files.test.ts`, title: "replaces the whole file, keeps who may use it" }
  },
  {
    name: "a file is written in place",
    clause: "NODE-09",
    file: `${src}/Files.ts`,
    find: "const temporary = Path.join(directory.prefix, `.quiesce-${Crypto.randomUUID()}`)",
    replace: "const temporary = target\n      yield* Effect.ignore(Fs.remove(target))",
    test: { file: `${test}/Files.test.ts`, title: "that is cancelled before the rename leaves the old file whole" }
  },
  {
    name: "the temporary file stays",
    clause: "NODE-09",
    file: `${src}/Files.ts`,
    find: "Effect.andThen(Effect.ignore(Fs.close(fd)), Effect.ignore(Fs.remove(path)))",
    replace: "Effect.ignore(Fs.close(fd))",
    test: { file: `${test}/Files.test.ts`, title: "that is cancelled before the rename leaves the old file whole" }
  },
  {
    name: "the temporary file stays open",
    clause: "NODE-09",
    file: `${src}/Files.ts`,
    find: "Effect.andThen(Effect.ignore(Fs.close(fd)), Effect.ignore(Fs.remove(path)))",
    replace: "Effect.ignore(Fs.remove(path))",
    test: { file: `${test}/Files.test.ts`, title: "that is cancelled before the rename leaves the old file whole" }
  }
]

const http: ReadonlyArray<Mutant> = [
  {
    name: "a request that is given up keeps its socket",
    clause: "NODE-08",
    file: `${src}/internal/exchange.ts`,
    find: "    request.destroy()\n",
    replace: "    resume(Effect.void)\n",
    test: { file: `${test}/Http.test.ts`, title: "before the headers has closed its socket" }
  },
  {
    name: "a request is not over when its socket is closed without a word",
    clause: "NODE-08",
    file: `${src}/internal/exchange.ts`,
    find: "sent.on(\"close\",",
    replace: "sent.on(\"never\",",
    test: { file: `${test}/Http.test.ts`, title: "that goes over to another protocol" }
  },
  {
    name: "a wait between two attempts cannot be interrupted",
    clause: "NODE-08",
    file: `${src}/Http.ts`,
    find: "yield* Effect.sleep(wait)",
    replace: "yield* Effect.uninterruptible(Effect.sleep(wait))",
    test: { file: `${test}/Http.test.ts`, title: "in a wait between two attempts does not attempt again" }
  }
]

const isolates: ReadonlyArray<Mutant> = [
  {
    name: "a task is not asked to stop before its thread is ended",
    clause: "NODE-06",
    file: `${src}/internal/isolate/isolate.ts`,
    find: "isolate.post({ _tag: \"Cancel\", task: id })",
    replace: "yield* isolate.end",
    test: {
      file: `${test}/WorkerTask.test.ts`,
      title: "is asked to stop, is awaited, and its thread runs the next one"
    }
  },
  {
    name: "a task is posted before there is somebody to stop it",
    clause: "NODE-06",
    file: `${src}/internal/isolate/isolate.ts`,
    find: "  Effect.uninterruptibleMask((restore) => {\n",
    replace: "  Effect.suspend((restore = <A>(wait: A) => wait) => {\n",
    test: {
      file: `${test}/WorkerTask.test.ts`,
      title: "between any two operations of its host leaves nothing running"
    }
  },
  {
    name: "a task is forked before there is somebody to stop it",
    clause: "NODE-06",
    file: `${src}/WorkerTask.ts`,
    find: "    Effect.uninterruptibleMask((restore) =>\n",
    replace: "    Effect.suspend((restore = <A>(wait: A) => wait) =>\n",
    test: {
      file: `${test}/WorkerTask.test.ts`,
      title: "between any two operations of its host leaves nothing running"
    }
  },
  {
    name: "a task that does not stop is left running",
    clause: ["NODE-06", "NODE-07"],
    file: `${src}/internal/isolate/isolate.ts`,
    find: "if (Option.isNone(late)) return yield* isolate.end",
    replace: "if (Option.isNone(late)) return",
    test: { file: `${test}/WorkerTask.test.ts`, title: "and loops for ever is ended after the grace" }
  },
  {
    name: "a task whose listener throws is left running",
    clause: "NODE-06",
    file: `${src}/internal/isolate/isolate.ts`,
    find: " || Exit.hasDies(exit)",
    replace: "",
    test: { file: `${test}/WorkerTask.test.ts`, title: "whose listener throws is stopped, and dies of it" }
  },
  {
    name: "what a thread throws is taken for an error as errors are",
    clause: "NODE-06",
    file: `${src}/internal/isolate/worker.ts`,
    find: ": describe(last.error)",
    replace: ": { name: \"Error\", message: (last.error as Error).message }",
    test: { file: `${test}/WorkerTask.test.ts`, title: "whose thread ends by something thrown" }
  },
  {
    name: "a process that sends what is no message is listened to",
    clause: "NODE-07",
    file: `${src}/internal/channel.ts`,
    find: "if (message === undefined) return broken()",
    replace: "if (message === undefined) return",
    test: { file: `${test}/Isolated.test.ts`, title: "and writes to every file it has fails alone" }
  },
  {
    name: "the end of a thread is not awaited",
    clause: "NODE-06",
    file: `${src}/internal/isolate/worker.ts`,
    find: "return Effect.asVoid(Deferred.await(ended))",
    replace: "return Effect.void",
    test: {
      file: `${test}/WorkerTask.test.ts`,
      title: "in a native call that blocks is awaited until the call returns"
    }
  },
  {
    name: "a thread that ended is used again",
    clause: "NODE-06",
    file: `${src}/WorkerTask.ts`,
    find: "Deferred.isDoneUnsafe(worker.ended) ? Pool.invalidate(pool, worker) : Effect.void",
    replace: "Effect.void",
    test: { file: `${test}/WorkerTask.test.ts`, title: "whose thread crashes fails alone, and the thread is replaced" }
  },
  {
    name: "a task that had not begun fails with the thread of another",
    clause: "NODE-06",
    file: `${src}/internal/isolate/isolate.ts`,
    find: "started ? failure : new NotStarted({ failure })",
    replace: "failure",
    test: { file: `${test}/WorkerTask.test.ts`, title: "that leaves a thread which ends later harms nobody" }
  },
  {
    name: "a thread runs several tasks at once",
    clause: "NODE-06",
    file: `${src}/WorkerTask.ts`,
    find: "    max: size,\n",
    replace: "    max: size,\n    concurrency: 2,\n",
    test: { file: `${test}/WorkerTask.test.ts`, title: "runs as many tasks at once as it has threads, and no more" }
  },
  {
    name: "a process that blocks is asked for ever",
    clause: "NODE-07",
    file: `${src}/internal/isolate/process.ts`,
    find: "export const endGrace = Duration.millis(250)",
    replace: "export const endGrace = Duration.minutes(1)",
    test: { file: `${test}/Isolated.test.ts`, title: "and ignores SIGTERM is quiet within its bound" }
  }
]

export const node: ReadonlyArray<Mutant> = [...process, ...guardian, ...files, ...http, ...isolates]
