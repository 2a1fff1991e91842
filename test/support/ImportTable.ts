const core = /^effect(\/[A-Z]\w*)?$/
const crypto = /^(effect\/crypto|node:crypto)$/
const http = /^effect\/http(\/\w+)?$/
const node = /^node:/

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
export const imports: ReadonlyArray<{
  readonly from: RegExp
  readonly files: ReadonlyArray<string>
  readonly packages: ReadonlyArray<RegExp>
}> = [
  { from: /^domain\/Msisdn\.ts$/, files: ["domain/"], packages: [core, /^libphonenumber-js(\/\w+)?$/] },
  { from: /^domain\//, files: ["domain/"], packages: [core] },
  // Tools that several folders use and that are no port.
  { from: /^runtime\//, files: ["domain/", "runtime/"], packages: [core] },
  { from: /^services\/ports\//, files: ["domain/", "services/ports/", "runtime/CapturedCall.ts"], packages: [core] },
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
    files: ["domain/", "runtime/", "services/", "console/", "http/ClientAddress.ts"],
    packages: [core, http, /^node:(http|crypto)$/, /^@effect\/platform-node\/\w+$/]
  },
  {
    from: /^console\//,
    files: ["domain/", "runtime/", "services/", "console/"],
    packages: [core, http, /^preact(-render-to-string)?$/]
  },
  // The socket's own facts: raw headers, malformed requests, draining.
  {
    from: /^http\/(Edge|NodeListener|Server|handlers\/System)\.ts$/,
    files: ["domain/", "runtime/", "services/", "http/"],
    packages: [core, http, /^effect\/http-api(\/\w+)?$/, /^node:(http|crypto|stream|zlib)$/, /^@effect\/platform-node\/\w+$/]
  },
  { from: /^http\/StaticText\.ts$/, files: ["http/"], packages: [core, http, /^node:(crypto|zlib)$/] },
  { from: /^http\/ManualFiles\.ts$/, files: [], packages: [core, /^node:(fs\/promises|path)$/] },
  { from: /^http\/DocsAssets\.ts$/, files: ["http/StaticText.ts"], packages: [core, /^node:(fs\/promises|path|zlib)$/] },
  { from: /^http\/ManualLinks\.ts$/, files: ["http/"], packages: [/^node:path$/] },
  { from: /^http\/ManualPage\.ts$/, files: ["http/"], packages: [/^node:path$/, /^marked$/] },
  { from: /^http\/ClientAddress\.ts$/, files: [], packages: [/^node:net$/] },
  { from: /^http\/ConnectionLimit\.ts$/, files: ["http/ClientAddress.ts"], packages: [/^node:net$/] },
  { from: /^http\/UnreadResponses\.ts$/, files: ["runtime/Timer.ts"], packages: [/^node:(http|net)$/] },
  { from: /^http\//, files: ["domain/", "runtime/", "services/", "http/"], packages: [core, http, /^effect\/http-api(\/\w+)?$/] },
  {
    from: /^providers\/Registry\.ts$/,
    files: ["domain/", "services/ports/Provider", "services/ports/Vault.ts", "providers/"],
    packages: [core, crypto]
  },
  {
    from: /^providers\/ProviderModule\.ts$/,
    files: ["domain/", "services/ports/Provider", "ConfigRules.ts"],
    packages: [core]
  },
  { from: /^providers\/ContractFees\.ts$/, files: ["domain/", "ConfigRules.ts"], packages: [core] },
  {
    from: /^providers\/(\w+)\/Settings\.ts$/,
    files: ["domain/", "providers/$1/", "providers/ProviderModule.ts", "providers/ContractFees.ts", "ConfigRules.ts"],
    packages: [core, crypto]
  },
  // What left the process and what did not is known to the connection only.
  {
    from: /^providers\/Transport\.ts$/,
    files: ["domain/Json.ts", "runtime/ClientSpan.ts", "runtime/Timer.ts", "runtime/Tracing.ts"],
    packages: [core, /^@effect\/platform-node\/Undici$/]
  },
  {
    from: /^providers\/(\w+)\//,
    files: [
      "domain/",
      "runtime/Tracing.ts",
      "services/ports/Provider",
      "providers/$1/",
      "providers/Transport.ts",
      "providers/WireNumber.ts",
      "providers/ContractFees.ts",
      // What several wires share, and none of them owns.
      "providers/Balances.ts",
      "providers/Client.ts",
      "providers/Connection.ts",
      "providers/Movements.ts",
      "providers/Quotes.ts",
      "providers/AnswerParsing.ts",
      "providers/ReferenceId.ts",
      "providers/Refusals.ts",
      "providers/ProviderStatus.ts",
      "providers/Statements.ts",
      "providers/Tokens.ts",
      "providers/CallbackVerification.ts"
    ],
    packages: [core, crypto, http]
  },
  {
    from: /^providers\/Client\.ts$/,
    files: ["domain/", "runtime/CapturedCall.ts", "providers/Transport.ts"],
    packages: [core]
  },
  // The other side of each wire. Nothing of the product knows it but the commands that run it.
  {
    from: /^simulator\/(SimulatorModule|Registry|Fees)\.ts$/,
    files: ["domain/", "simulator/", "providers/ProviderModule.ts", "providers/ContractFees.ts"],
    packages: [core, crypto]
  },
  {
    from: /^simulator\/\w+\.ts$/,
    files: ["domain/", "services/ports/Provider", "simulator/"],
    packages: [core, crypto, http, node, /^@effect\/platform-node(\/\w+)?$/]
  },
  {
    from: /^simulator\/(\w+)\//,
    files: ["domain/", "services/ports/Provider", "simulator/", "providers/$1/", "providers/WireNumber.ts"],
    packages: [core, crypto, http, node]
  },
  {
    from: /^providers\/\w+\.ts$/,
    files: [
      "domain/",
      "runtime/RecentCalls.ts",
      "services/ports/Provider",
      "providers/Client.ts",
      "providers/Connection.ts",
      "providers/ContractFees.ts",
      "providers/AnswerParsing.ts",
      "providers/Refusals.ts",
      "providers/ProviderStatus.ts",
      "providers/Transport.ts"
    ],
    packages: [core, crypto, http]
  },
  {
    from: /^persistence\/postgres\//,
    files: ["persistence/"],
    packages: [core, node, /^effect\/reactivity\/Reactivity$/, /^@effect\/sql-pg\/PgClient$/]
  },
  {
    from: /^persistence\/MasterKeyHold\.ts$/,
    files: ["persistence/", "services/ports/CommitsWaiting.ts"],
    packages: [core, /^node:os$/, /^effect\/sql$/]
  },
  {
    from: /^persistence\/DatabaseTls\.ts$/,
    files: ["persistence/DatabaseError.ts"],
    packages: [core, /^node:(fs\/promises|tls)$/]
  },
  {
    from: /^persistence\/RateLimitsRedis\.ts$/,
    files: ["services/ports/", "persistence/RateLimitsMemory.ts"],
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
    from: /^commands\/(Start|Simulator)\.ts$/,
    files: ["domain/", "services/", "commands/", "simulator/", "App.ts"],
    packages: [core, crypto, http, /^effect\/(cli|process)(\/\w+)?$/, node]
  },
  {
    from: /^commands\//,
    files: ["domain/", "services/", "commands/", "App.ts"],
    packages: [core, crypto, http, /^effect\/(cli|process)(\/\w+)?$/, node]
  },
  { from: /^ConfigRules\.ts$/, files: ["services/ports/RateLimits.ts"], packages: [core, /^node:net$/] },
  {
    from: /^Config\.ts$/,
    files: ["domain/", "ConfigRules.ts", "ConfigAddresses.ts", "ConfigConsole.ts", "ConfigTelemetry.ts", "providers/Registry.ts"],
    packages: [core]
  },
  { from: /^ConfigConsole\.ts$/, files: ["domain/", "ConfigRules.ts"], packages: [core] },
  { from: /^ConfigTelemetry\.ts$/, files: ["ConfigAddresses.ts", "ConfigRules.ts"], packages: [core, /^node:fs$/] },
  { from: /^ConfigAddresses\.ts$/, files: ["ConfigRules.ts", "persistence/DatabaseTls.ts"], packages: [core] },
  // What App puts together, in three parts.
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
      "Services.ts"
    ],
    packages: [/./]
  },
  {
    from: /^main\.ts$/,
    files: ["App.ts", "commands/"],
    packages: [core, /^effect\/cli$/, /^@effect\/platform-node(\/\w+)?$/, node]
  }
]
