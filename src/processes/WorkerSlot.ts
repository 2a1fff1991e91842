/** Which of a machine's worker processes one is, from 1 on. A worker that takes the place of another has its number. */
export interface WorkerSlot {
  readonly number: number
  readonly workers: number
}

/** The variable in which the primary process tells a worker its place. */
const VARIABLE = "GATEWAY_WORKER"

export const variablesOf = ({ number, workers }: WorkerSlot): Readonly<Record<string, string>> => ({
  [VARIABLE]: `${number}/${workers}`
})

export const slotOf = (variables: Readonly<Record<string, string | undefined>>): WorkerSlot | null => {
  const [, number, workers] = /^(\d+)\/(\d+)$/.exec(variables[VARIABLE] ?? "") ?? []
  return number === undefined ? null : { number: Number(number), workers: Number(workers) }
}

/** What it is called in logs. */
export const processName = ({ number }: Pick<WorkerSlot, "number">): string => `worker ${number}`

interface Bounds {
  readonly connectionPlaces: { readonly inAll: number; readonly anAddress: number }
  readonly requestPlaces: { readonly reads: number; readonly money: number }
}

interface Shared extends Bounds {
  readonly console: { readonly port: number | null }
  readonly telemetry: { readonly attributes: Readonly<Record<string, string>> }
}

const INSTANCE = "service.instance.id"

/**
 * The settings of one worker. What a node may hold at once is divided among its workers, so that all of them together hold no more. The first
 * worker has the console: what its pages show of calls to providers is what that process saw.
 */
export const settingsOf = <S extends Shared>(settings: S, slot: WorkerSlot): S => {
  const { connectionPlaces, requestPlaces, telemetry } = settings
  const { [INSTANCE]: named, ...attributes } = telemetry.attributes
  const instance = named === undefined ? {} : { [INSTANCE]: `${named}/${slot.number}` }
  return {
    ...settings,
    connectionPlaces: {
      inAll: shareOf(connectionPlaces.inAll, slot),
      anAddress: shareOf(connectionPlaces.anAddress, slot)
    },
    requestPlaces: { reads: shareOf(requestPlaces.reads, slot), money: shareOf(requestPlaces.money, slot) },
    console: slot.number === 1 ? settings.console : { ...settings.console, port: null },
    telemetry: { ...telemetry, attributes: { ...attributes, ...instance, "gateway.worker": String(slot.number) } }
  }
}

/** What must be larger for every worker to have a share: the settings' names and what they say. */
export const tooSmall = (
  { connectionPlaces, requestPlaces }: Bounds,
  workers: number
): ReadonlyArray<readonly [string, number]> => {
  const bounds = [
    ["CONNECTIONS_AT_ONCE", connectionPlaces.inAll],
    ["CONNECTIONS_AN_ADDRESS", connectionPlaces.anAddress],
    ["REQUESTS_AT_ONCE_READS", requestPlaces.reads],
    ["REQUESTS_AT_ONCE_MONEY", requestPlaces.money]
  ] as const
  return bounds.filter(([, bound]) => bound < workers)
}

const shareOf = (bound: number, { number, workers }: WorkerSlot): number =>
  Math.floor(bound / workers) + (number <= bound % workers ? 1 : 0)
