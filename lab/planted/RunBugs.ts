import type { Bug } from "./Bug.ts"

const run = "clients/typescript/src/Run.ts"
const lock = "clients/cli/src/RunLock.ts"
const nameTest = "test/clients/RunName.test.ts"
const folderTest = "test/clients/RunFolder.test.ts"

// Mistakes in how a tenant's own side pays a list: the names of runs, and the lock of one.

export const runBugs: ReadonlyArray<Bug> = [
  {
    name: "take an earlier run's payout for one of this run",
    breaks: "a run under a name that an earlier one had pays nobody, and says so",
    test: nameTest,
    edits: [
      {
        file: run,
        text: "if (this.#isEarlier(made, isForeign)) return this.#keepTaken(row, key)",
        instead: "if (this.#isEarlier(made, isForeign) && row.taken) return this.#keepTaken(row, key)"
      }
    ]
  },
  {
    name: "go on in a later process under a name that was taken",
    breaks: "a run whose name was taken never goes on",
    test: nameTest,
    edits: [
      {
        file: run,
        text: "if (this.#taken === undefined) return\n",
        instead: "if (this.#taken === undefined || this.#ownSince === undefined) return\n"
      }
    ]
  },
  {
    name: "take an earlier run's refusal for one of this run",
    breaks: "a run under a name that an earlier one had pays nobody, and says so",
    test: nameTest,
    edits: [
      {
        file: run,
        text: 'if ((isForeign || made.code === "idempotency_key_reused") &&',
        instead: 'if (made.code === "idempotency_key_reused" &&'
      }
    ]
  },
  {
    name: "send the first rows of a list together",
    breaks: "the first row goes alone, so that a reused name meets one key",
    test: "test/clients/Run.test.ts",
    edits: [{ file: run, text: "if (!rows.some(hasAnswer)) await", instead: "if (rows.length === 0) await" }]
  },
  {
    name: "judge a process of another machine by the numbers of this one",
    breaks: "a lock that another machine left is never taken over",
    test: folderTest,
    edits: [{ file: lock, text: " || machine !== own.machine || namespace", instead: " || namespace" }]
  },
  {
    name: "judge a process of another container by the numbers of this one",
    breaks: "a lock that another container left is never taken over",
    test: folderTest,
    edits: [{ file: lock, text: " || namespace !== own.namespace) return true", instead: ") return true" }]
  },
  {
    name: "know a process by its number alone",
    breaks: "the lock of a process that was killed is taken over",
    test: folderTest,
    edits: [
      {
        file: lock,
        text: "return began === null || now === null ? isNumberUsed(pid) : now === began",
        instead: "return now !== null || isNumberUsed(pid)"
      }
    ]
  },
  {
    name: "remove a lock without having the file beside it",
    breaks: "of many that find the lock of a process that was killed, one takes it over",
    test: folderTest,
    edits: [
      {
        file: lock,
        text: 'if ((await readFile(file, "utf8").catch(() => undefined)) === seen) await rm(file, { force: true })',
        instead: "await rm(file, { force: true })"
      }
    ]
  }
]
