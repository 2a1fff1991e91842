import { readFileSync } from "node:fs"

/** What one kind of node of a heap snapshot holds: how many of it there are, and how many bytes they take themselves. */
export interface Held {
  readonly count: number
  readonly bytes: number
}

/** By type and name; what has a name of its own each time, such as strings and code, by type alone. */
export type Heap = ReadonlyMap<string, Held>

/** One kind that holds more in the second snapshot than in the first. */
export interface Growth extends Held {
  readonly kind: string
}

interface Snapshot {
  readonly snapshot: {
    readonly meta: { readonly node_fields: ReadonlyArray<string>; readonly node_types: ReadonlyArray<unknown> }
  }
  readonly nodes: ReadonlyArray<number>
  readonly strings: ReadonlyArray<string>
}

const NAMED: ReadonlyArray<string> = ["object", "closure", "native", "synthetic"]

/** Everything that is reachable: V8 collects before it writes a snapshot. */
export const heapOf = ({ nodes, snapshot, strings }: Snapshot): Heap => {
  const { node_fields: fields, node_types: types } = snapshot.meta
  const [type, name, size] = ["type", "name", "self_size"].map((field) => fields.indexOf(field))
  const names: ReadonlyArray<string> = Array.isArray(types[0]) ? types[0] : []
  const heap = new Map<string, Held>()
  for (let at = 0; at < nodes.length; at += fields.length) {
    const ofType = names[nodes[at + (type ?? 0)] ?? 0] ?? "?"
    const kind = NAMED.includes(ofType) ? `${ofType} ${strings[nodes[at + (name ?? 0)] ?? 0]}` : ofType
    const { bytes, count } = heap.get(kind) ?? { bytes: 0, count: 0 }
    heap.set(kind, { count: count + 1, bytes: bytes + (nodes[at + (size ?? 0)] ?? 0) })
  }
  return heap
}

export const readHeap = (file: string): Heap => heapOf(JSON.parse(readFileSync(file, "utf8")))

export const bytesOf = (heap: Heap): number => [...heap.values()].reduce((sum, { bytes }) => sum + bytes, 0)

/** What grew, the most bytes first. */
export const grown = (before: Heap, after: Heap): ReadonlyArray<Growth> =>
  [...after]
    .map(([kind, { bytes, count }]) => {
      const earlier = before.get(kind) ?? { bytes: 0, count: 0 }
      return { kind, count: count - earlier.count, bytes: bytes - earlier.bytes }
    })
    .filter(({ bytes }) => bytes > 0)
    .toSorted((one, other) => other.bytes - one.bytes)
