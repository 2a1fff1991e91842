import type { Source } from "./Source.ts"

/** Who imports whom: files by their paths from the project's root, or the folders that they are in. Types count as well. */
export type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>

export const fileGraph = (sources: ReadonlyArray<Source>): ImportGraph => {
  const files = sources.filter(({ path }) => /^src\/.*\.ts$/.test(path))
  const known = new Set(files.map(({ path }) => path))
  return new Map(
    files.map(({ imports, path }) => [path, new Set(imports.map(({ name }) => name).filter((name) => known.has(name)))])
  )
}

/** The folder that a file counts to; in `services`, `persistence` and `http` that is the room inside, and their own files count for themselves. */
const folderOf = (path: string): string => {
  const [, first = "", second = "", third] = path.split("/")
  if (second === "") return first
  if (first === "services" || (["persistence", "http"].includes(first) && third !== undefined)) return `${first}/${second}`
  return first
}

export const folderGraph = (files: ImportGraph): ImportGraph => {
  const folders = new Map<string, Set<string>>()
  for (const [path, imported] of files) {
    const folder = folderOf(path)
    const others = folders.get(folder) ?? new Set()
    for (const other of imported) if (folderOf(other) !== folder) others.add(folderOf(other))
    folders.set(folder, others)
  }
  return folders
}

/** The first way that leads back to where it began; empty where there is none. */
export const circle = (graph: ImportGraph): ReadonlyArray<string> => {
  const done = new Set<string>()
  const from = (node: string, way: ReadonlyArray<string>): ReadonlyArray<string> => {
    const at = way.indexOf(node)
    if (at >= 0) return [...way.slice(at), node]
    if (done.has(node)) return []
    for (const next of graph.get(node) ?? []) {
      const found = from(next, [...way, node])
      if (found.length > 0) return found
    }
    done.add(node)
    return []
  }
  for (const node of graph.keys()) {
    const found = from(node, [])
    if (found.length > 0) return found
  }
  return []
}
