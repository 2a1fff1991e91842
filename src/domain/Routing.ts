import type { Corridor } from "./Corridor.ts"

/** The providers that these rows route to, each once, those of active rows first. */
export const routedProviders = (rows: ReadonlyArray<Corridor>): ReadonlyArray<string> => {
  const names = (active: boolean) => rows.filter((row) => row.active === active).map(({ provider }) => provider)
  return [...new Set([...names(true), ...names(false)])]
}
