import type { Bug } from "./Bug.ts"

const lists = "src/persistence/transactions/TransactionList.ts"
const walks = "test/persistence/transactions/ListWalks.test.ts"
const parameters = "src/http/edge/QueryParameters.ts"
const unknown = "test/scenarios/requests/UnknownParameters.test.ts"

// Mistakes in how lists are walked, and in what they are asked for.

export const listBugs: ReadonlyArray<Bug> = [
  {
    name: "list a record at each of its changes",
    breaks: "a walk by change has each record where it changed last",
    test: walks,
    edits: [
      {
        file: lists,
        text: '${order === "updated" ? sql`AND ${momentIn("updatedAt")} = ${place}` : sql``}',
        instead: '${order === "updated" ? sql`AND ${momentIn("updatedAt")} >= ${place}` : sql``}'
      }
    ]
  },
  {
    name: "leave out the changes of the moment at which a page ends",
    breaks: "a walk by change skips none of one moment",
    test: walks,
    edits: [
      {
        file: lists,
        text: 'iso(from.at)}::timestamptz, ${from?.id ?? ""})`',
        instead: 'iso(from.at)}::timestamptz, ${from === null ? "" : isAscending ? "~" : from.id})`'
      }
    ]
  },
  {
    name: "go on in one order from a place in another",
    breaks: "a cursor of another order is refused",
    test: "test/scenarios/requests/RecordLists.test.ts",
    edits: [{ file: "src/http/api/Page.ts", text: "its === order)", instead: 'its !== "" || order === "")' }]
  },
  {
    name: "list everything where a filter is misspelt",
    breaks: "a list refuses a parameter that it does not know",
    test: unknown,
    edits: [{ file: parameters, text: "query !== undefined && !OF_ONE", instead: "query === undefined && !OF_ONE" }]
  },
  {
    name: "know the parameters that every object has",
    breaks: "a list refuses a parameter that it does not know",
    test: unknown,
    edits: [
      {
        file: parameters,
        text: "return (name) => names.has(name) ||",
        instead: "return (name) => names.has(name) || name in {} ||"
      }
    ]
  }
]
