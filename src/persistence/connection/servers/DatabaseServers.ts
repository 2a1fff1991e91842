import { Option } from "effect"

/** One server in an address. A host that is a path is a local socket. */
export interface DatabaseServer {
  readonly host: string
  readonly port: number
}

/** The servers in a `postgres://` address, as libpq parses it: `a:5432,b:5433`, or the parameters `host` and `port` with commas. */
export interface DatabaseServers {
  readonly servers: readonly [DatabaseServer, ...ReadonlyArray<DatabaseServer>]
  /** Whether to look for the server that accepts writes: there are several, or `target_session_attrs` asks for it. */
  readonly looksForPrimary: boolean
  /** The same address with only the first server, for code that can handle one. */
  readonly first: URL
}

const DEFAULT_PORT = 5432
const LARGEST_PORT = 65_535
/** The libpq values that make sense for the gateway, which writes. Of several servers it uses the writable one in any case. */
const targets: ReadonlyArray<string> = ["any", "read-write", "primary"]
const ADDRESS = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)([^?#]*)(?:\?([^#]*))?/

/** The servers in an address, or why it is refused; undefined when it is not an address. */
export const databaseServers = (text: string): DatabaseServers | string | undefined => {
  const [whole, scheme = "", user = "", authority = "", path = "", query = ""] = ADDRESS.exec(text) ?? []
  if (whole === undefined) return undefined
  const parameters = new URLSearchParams(query)
  const last = (name: string): string | undefined => parameters.getAll(name).at(-1) || undefined
  const named = authority.split(",").map(hostAndPort)
  const hosts = last("host")?.split(",") ?? named.map(({ host }) => host)
  const ports = last("port")?.split(",") ?? (last("host") === undefined ? named.map(({ port }) => port) : [named[0]?.port ?? ""])
  if (ports.length !== 1 && ports.length !== hosts.length) return `names ${hosts.length} hosts and ${ports.length} ports`
  const servers: Array<DatabaseServer> = []
  for (const [index, host] of hosts.entries()) {
    const port = portOf(ports.length === 1 ? ports[0] : ports[index])
    const decoded = Option.getOrUndefined(decodeHost(host))
    if (port === undefined) return "has a port that is none"
    if (decoded === undefined || (decoded === "" && hosts.length > 1)) return "has a host that cannot be read"
    servers.push({ host: decoded, port })
  }
  const target = last("target_session_attrs")
  if (target !== undefined && !targets.includes(target)) return `has a target_session_attrs that is none of ${targets.join(", ")}`
  const [first, ...others] = servers
  if (first === undefined) return undefined
  for (const name of servers.length > 1 ? ["host", "port"] : []) parameters.delete(name)
  const [one = ""] = authority.split(",")
  const rest = parameters.size === 0 ? "" : `?${parameters}`
  const url = `${scheme}${user}${servers.length > 1 ? writtenHost(first) : one}${path}${rest}`
  if (!URL.canParse(url)) return undefined
  return {
    servers: [first, ...others],
    looksForPrimary: others.length > 0 || (target !== undefined && target !== "any"),
    first: new URL(url)
  }
}

const hostAndPort = (text: string) => {
  const [, bracketed, plain = "", port = ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::(.*))?$/.exec(text) ?? []
  return { host: bracketed ?? plain, port }
}

const portOf = (text = ""): number | undefined => {
  if (text === "") return DEFAULT_PORT
  const port = Number(text)
  return /^\d+$/.test(text) && port > 0 && port <= LARGEST_PORT ? port : undefined
}

const writtenHost = ({ host, port }: DatabaseServer): string =>
  `${host.includes(":") ? `[${host}]` : encodeURIComponent(host)}:${port}`

const decodeHost = Option.liftThrowable(decodeURIComponent)
