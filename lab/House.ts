import { fileGraph, type ImportGraph } from "../test/support/ImportGraph.ts"
import { readSources, type Source } from "../test/support/Source.ts"

// The size of the house, to be compared from release to release: `npm run -s house`.

const SLIVER_LINES = 25

const linesOf = ({ text }: Source): number => text.trimEnd().split("\n").length
const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, number) => total + number, 0)

/** The rooms of a folder, each of its own files a room, and who imports whom among them. */
const roomsOf = (folder: string, files: ImportGraph) => {
  const roomOf = (path: string): string => path.slice(folder.length).split("/")[0] ?? path
  const within = [...files].filter(([path]) => path.startsWith(folder))
  const arrows = within.flatMap(([path, imported]) =>
    [...imported]
      .filter((other) => other.startsWith(folder) && roomOf(other) !== roomOf(path))
      .map((other) => `${roomOf(path)} ${roomOf(other)}`)
  )
  return `${new Set(within.map(([path]) => roomOf(path))).size} boxes, ${new Set(arrows).size} arrows`
}

const sources = readSources()
const product = sources.filter(({ path }) => /^(src|clients\/cli)\/.*\.(ts|js|sql)$/.test(path) && !path.includes("/vendor/"))
const described = product.filter(({ path }) => path.startsWith("src/http/description/OpenApi"))
const files = fileGraph(sources)

const figures = {
  "lines of src, SQL included": sum(product.map(linesOf)),
  "lines of src that is not the simulator": sum(product.filter(({ path }) => !path.startsWith("src/simulator/")).map(linesOf)),
  "source files": product.length,
  [`source files under ${SLIVER_LINES} lines`]: product.filter((source) => linesOf(source) < SLIVER_LINES).length,
  "src/persistence": roomsOf("src/persistence/", files),
  "src/http": roomsOf("src/http/", files),
  "lines that describe the API beside its endpoints": sum(described.map(linesOf)),
  "lines of test": sum(sources.filter(({ path }) => /^test\/.*\.ts$/.test(path)).map(linesOf)),
  "lines of lab": sum(sources.filter(({ path }) => /^lab\/.*\.ts$/.test(path)).map(linesOf))
}
for (const [name, figure] of Object.entries(figures)) console.log(`${name.padEnd(52)}${figure}`)
