import { core, crypto, http, type ImportRow, node } from "./ImportPackages.ts"
import { providerImports } from "./ProviderImports.ts"

/** What the folders of use cases may import, each beside the folders below it. */
const inServices = (...folders: ReadonlyArray<string>): ReadonlyArray<string> => [
  "domain/",
  "runtime/",
  "services/ports/",
  ...folders.map((folder) => `services/${folder}/`)
]

/**
 * Who may import what. The first row that fits a file counts. `files` are beginnings of paths under `src/`, where `$1` is what
 * `from` captured; `packages` are patterns of package names.
 */
export const imports: ReadonlyArray<ImportRow> = [
  { from: /^domain\/Msisdn\.ts$/, files: ["domain/"], packages: [core, /^libphonenumber-js(\/\w+)?$/] },
  { from: /^domain\/AddressRange\.ts$/, files: ["domain/"], packages: [core, /^node:net$/] },
  { from: /^domain\//, files: ["domain/"], packages: [core] },
  // Tools that several folders use and that are no port.
  { from: /^runtime\/StrangeRequests\.ts$/, files: [], packages: [/^node:http$/] },
  { from: /^runtime\//, files: ["domain/", "runtime/"], packages: [core] },
  {
    from: /^services\/ports\//,
    files: ["domain/", "services/ports/", "runtime/CapturedCall.ts", "runtime/MessageError.ts"],
    packages: [core]
  },
  { from: /^services\/webhooks\/WebhookDispatcher\.ts$/, files: inServices("webhooks"), packages: [core, crypto, http] },
  // The tenant's address is checked where it is dialled, which is below what Effect's HTTP client shows.
  {
    from: /^services\/webhooks\/(EndpointConnection|EndpointAddress)\.ts$/,
    files: inServices("webhooks"),
    packages: [core, crypto, /^node:net$/, /^@effect\/platform-node\/Undici$/]
  },
  { from: /^services\/webhooks\/EndpointNames\.ts$/, files: ["runtime/"], packages: [core, /^node:(dns|fs\/promises)$/] },
  // Whoever takes over has to be written down before it is sent there.
  { from: /^services\/routing\/Failover\.ts$/, files: inServices("settlement"), packages: [core] },
  { from: /^services\/(webhooks|admission|routing)\//, files: inServices("$1"), packages: [core, crypto] },
  { from: /^services\/reference\//, files: inServices("reference", "admission", "routing"), packages: [core, crypto] },
  { from: /^services\/settlement\//, files: inServices("settlement", "webhooks"), packages: [core, crypto] },
  {
    from: /^services\/(payouts|collections|exchanges)\//,
    files: [
      ...inServices("$1", "admission", "routing", "reference", "settlement"),
      "services/Records.ts",
      "services/NewRecord.ts"
    ],
    packages: [core, crypto]
  },
  { from: /^services\//, files: ["domain/", "runtime/", "services/"], packages: [core, crypto] },
  // The operators' pages: services and ports, and nothing below them.
  {
    from: /^console\/(Console|Gate)\.ts$/,
    files: [
      "domain/",
      "runtime/",
      "services/",
      "console/",
      "http/edge/ClientAddress.ts",
      "http/edge/ConnectionLimit.ts",
      "http/edge/RequestBody.ts"
    ],
    packages: [core, http, /^node:(http|crypto)$/, /^@effect\/platform-node\/\w+$/]
  },
  {
    from: /^console\//,
    files: ["domain/", "runtime/", "services/", "console/"],
    packages: [core, http, /^preact(-render-to-string)?$/]
  },
  // The socket's own facts: raw headers, malformed requests, draining.
  {
    from: /^http\/(Server|edge\/(Edge|NodeListener)|handlers\/System)\.ts$/,
    files: ["domain/", "runtime/", "services/", "http/"],
    packages: [
      core,
      http,
      /^effect\/(http-api|net)(\/\w+)?$/,
      /^node:(http|crypto|stream|zlib)$/,
      /^@effect\/platform-node\/\w+$/
    ]
  },
  { from: /^http\/description\/StaticText\.ts$/, files: ["http/"], packages: [core, http, /^node:(crypto|zlib)$/] },
  { from: /^http\/description\/ManualFiles\.ts$/, files: [], packages: [core, /^node:(fs\/promises|path)$/] },
  {
    from: /^http\/description\/DocsPage\.ts$/,
    files: ["http/"],
    packages: [core, /^node:(fs\/promises|path|zlib)$/]
  },
  { from: /^http\/description\/ManualLinks\.ts$/, files: ["http/"], packages: [/^node:path$/] },
  { from: /^http\/description\/ManualPage\.ts$/, files: ["http/"], packages: [/^node:path$/, /^marked$/] },
  { from: /^http\/edge\/ClientAddress\.ts$/, files: [], packages: [/^node:net$/] },
  { from: /^http\/edge\/ConnectionLimit\.ts$/, files: ["http/edge/ClientAddress.ts"], packages: [/^node:net$/] },
  {
    from: /^http\/edge\/(ConnectionEnd|UnreadResponses)\.ts$/,
    files: ["runtime/Timer.ts"],
    packages: [/^node:(http|net|stream)$/]
  },
  { from: /^http\//, files: ["domain/", "runtime/", "services/", "http/"], packages: [core, http, /^effect\/http-api(\/\w+)?$/] },
  ...providerImports,
  {
    from: /^persistence\/postgres\//,
    files: ["runtime/MessageError.ts", "persistence/"],
    packages: [core, node, /^effect\/reactivity\/Reactivity$/, /^@effect\/sql-pg\/PgClient$/]
  },
  {
    from: /^persistence\/vault\/MasterKeyHold\.ts$/,
    files: ["persistence/", "services/ports/CommitsWaiting.ts"],
    packages: [core, /^node:os$/, /^effect\/sql$/]
  },
  {
    from: /^persistence\/schema\/(FunctionFiles|MigrationList)\.ts$/,
    files: ["persistence/"],
    packages: [core, /^node:(crypto|fs|path)$/]
  },
  {
    from: /^persistence\/connection\/(BoundedClient|DatabaseClock)\.ts$/,
    files: ["domain/", "runtime/", "services/ports/", "persistence/connection/"],
    packages: [core, /^node:(diagnostics_channel|os)$/, /^effect\/sql$/, /^@effect\/sql-pg\/Pg(Client|Connection)$/]
  },
  {
    from: /^persistence\/connection\/DatabaseTls\.ts$/,
    files: ["persistence/connection/"],
    packages: [core, /^node:(fs\/promises|tls)$/]
  },
  {
    from: /^persistence\/connection\/servers\//,
    files: ["persistence/connection/servers/"],
    packages: [core, /^node:(dns\/promises|net)$/, /^effect\/sql$/, /^@effect\/sql-pg\/Pg(Connection|Pool)$/]
  },
  {
    from: /^persistence\/requests\/RateLimitsRedis\.ts$/,
    files: ["runtime/ServiceLayer.ts", "services/ports/", "persistence/requests/RateLimitsMemory.ts"],
    packages: [core, /^effect\/persistence\/RateLimiter$/, /^@effect\/platform-node\/NodeRedis$/]
  },
  {
    from: /^persistence\//,
    files: ["domain/", "runtime/", "services/ports/", "persistence/"],
    packages: [core, crypto, /^effect\/(sql|reactivity)(\/\w+)?$/, /^@effect\/sql-pg(\/\w+)?$/]
  },
  {
    from: /^observability\//,
    files: ["domain/", "runtime/", "services/ports/", "observability/"],
    packages: [
      core,
      http,
      /^node:(fs|http|perf_hooks)$/,
      /^@effect\/platform-node\/NodeHttp(Server|Client)$/,
      /^effect\/observability(\/\w+)?$/,
      /^effect\/sql\/Statement$/,
      /^@effect\/opentelemetry(\/\w+)?$/,
      /^@opentelemetry\//
    ]
  },
  {
    from: /^commands\/(Start|Simulator|DemoProviders)\.ts$/,
    files: ["domain/", "services/", "commands/", "simulator/", "App.ts"],
    packages: [core, crypto, http, /^effect\/(cli|process)(\/\w+)?$/, node]
  },
  {
    from: /^commands\//,
    files: ["domain/", "runtime/MessageError.ts", "services/", "commands/", "App.ts"],
    packages: [core, crypto, http, /^effect\/(cli|process)(\/\w+)?$/, node]
  },
  {
    from: /^ConfigRules\.ts$/,
    files: ["services/ports/RateLimits.ts", "persistence/connection/servers/"],
    packages: [core, /^node:net$/]
  },
  {
    from: /^Config\.ts$/,
    files: ["domain/", "ConfigRules.ts", "ConfigAddresses.ts", "ConfigConsole.ts", "ConfigTelemetry.ts", "providers/Registry.ts"],
    packages: [core]
  },
  { from: /^ConfigConsole\.ts$/, files: ["domain/", "ConfigRules.ts"], packages: [core] },
  { from: /^ConfigTelemetry\.ts$/, files: ["ConfigAddresses.ts", "ConfigRules.ts"], packages: [core, /^node:fs$/] },
  { from: /^ConfigAddresses\.ts$/, files: ["ConfigRules.ts", "persistence/connection/DatabaseTls.ts"], packages: [core] },
  // What App puts together, in its parts.
  {
    from: /^(App|Ports|Services)\.ts$/,
    files: [
      "domain/",
      "runtime/",
      "services/",
      "console/",
      "http/",
      "providers/",
      "persistence/",
      "observability/",
      "Config.ts",
      "Ports.ts",
      "Services.ts",
      "App.ts"
    ],
    packages: [/./]
  },
  {
    from: /^main\.ts$/,
    files: ["App.ts", "commands/"],
    packages: [core, /^effect\/cli$/, /^@effect\/platform-node(\/\w+)?$/, node]
  }
]
