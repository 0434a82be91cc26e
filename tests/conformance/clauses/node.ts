/** The clauses of NODE: capabilities that end what they start. */
export const node = {
  title: "capabilities that end what they start",
  clauses: {
    "NODE-01": "Process: starts in its own group; cancel or scope close sends TERM to the group, waits the grace, " +
      "sends KILL to the group, and waits for exit. Escalation does not trust `killed`; a leader that obeys while a " +
      "grandchild does not is still escalated.",
    "NODE-02": "The result arrives when the group is empty (no member that is not a zombie: `kill(-pgid, 0)` " +
      "succeeds on zombies for ever), or its residue says which members may survive; a descendant that left the " +
      "group is found where the platform allows, otherwise reported as possible survivor.",
    "NODE-03": "A descendant holding stdout cannot stretch the wait: after exit, output is drained for a bounded " +
      "time, then pipes are destroyed; output so far is kept, bounded in size, and marked complete or cut.",
    "NODE-04": "Pre-aborted: nothing is spawned. Abort in the tick of spawning, a spawn that fails (ENOENT), double " +
      "cancel: one outcome, no uncaught event, no listener left. Never a signal to 0, 1, −1 or our own group; once " +
      "the leader is reaped, the group is signalled only after proving, in the same tick, a living member of our " +
      "session.",
    "NODE-05": "Killed is never reported as success, also when the child exits 0 after a trap; timeout, cancel and " +
      "exit are told apart. The child gets PATH, HOME, LANG, LC_*, TERM, TMPDIR, USER and an explicit allow list; " +
      "stdin is closed by default.",
    "NODE-06": "Worker: cooperative message, grace, terminate, wait for exit; one cancellable task per worker; a " +
      "warm pool replaces what it lost; a late kill never hits the next task.",
    "NODE-07": "Isolated tool: any body that lives in a module can run in a worker or a child process so that even " +
      "code that ignores its signal is quiescent within a stated bound. In a worker the bound covers JavaScript " +
      "only; a child process covers blocking native calls too.",
    "NODE-08": "HTTP: abort closes the socket (the server sees the disconnect) before and after headers; back-off " +
      "waits are interruptible; a thousand requests on one signal leave no listener.",
    "NODE-09": "Files: writes are atomic (temp, fsync, rename); cancel before the rename leaves the old file whole " +
      "and no temp behind."
  }
}
