import { core, crypto, http, type ImportRow, node } from "./ImportPackages.ts"

/** The providers, and the other side of their wires. */
export const providerImports: ReadonlyArray<ImportRow> = [
  {
    from: /^providers\/Registry\.ts$/,
    files: ["domain/", "services/ports/Provider", "services/ports/AccountClaims.ts", "services/ports/Vault.ts", "providers/"],
    packages: [core, crypto]
  },
  {
    from: /^providers\/CorridorDoubts\.ts$/,
    files: [
      "domain/",
      "services/ports/CorridorDoubts.ts",
      "services/ports/ProviderSwitches.ts",
      "providers/ProviderModule.ts",
      "providers/Registry.ts"
    ],
    packages: [core]
  },
  {
    from: /^providers\/ProviderModule\.ts$/,
    files: [
      "domain/",
      "services/ports/Provider",
      "services/ports/RateLimits.ts",
      "providers/CallbackPaths.ts",
      "providers/ContractFees.ts",
      "providers/FeeSchedule.ts",
      "providers/Pace.ts",
      "providers/PaceSettings.ts",
      "ConfigRules.ts"
    ],
    packages: [core]
  },
  { from: /^providers\/CallbackPaths\.ts$/, files: ["ConfigRules.ts"], packages: [core] },
  { from: /^providers\/PublicKeys\.ts$/, files: [], packages: [crypto] },
  {
    from: /^providers\/PaceSettings\.ts$/,
    files: ["services/ports/RateLimits.ts", "providers/Pace.ts", "ConfigRules.ts"],
    packages: [core]
  },
  {
    from: /^providers\/Pace\.ts$/,
    files: ["domain/", "runtime/CallTurn.ts", "runtime/Tracing.ts", "services/ports/RateLimits.ts", "providers/Transport.ts"],
    packages: [core]
  },
  {
    from: /^providers\/(Movements|Quotes|Tokens)\.ts$/,
    files: ["domain/", "runtime/CallTurn.ts", "runtime/LatestTime.ts", "services/ports/Provider", "providers/"],
    packages: [core]
  },
  {
    from: /^providers\/Connection\.ts$/,
    files: ["domain/", "runtime/RecentCalls.ts", "services/ports/Provider", "providers/"],
    packages: [core]
  },
  {
    from: /^providers\/CountryBranches\.ts$/,
    files: ["domain/", "services/ports/Provider", "providers/"],
    packages: [core]
  },
  { from: /^providers\/CountryList\.ts$/, files: ["ConfigRules.ts"], packages: [core] },
  { from: /^providers\/PayerEmail\.ts$/, files: ["services/ports/Provider.ts", "ConfigRules.ts"], packages: [core] },
  { from: /^providers\/ContractFees\.ts$/, files: ["domain/", "services/ports/Provider.ts", "ConfigRules.ts"], packages: [core] },
  // A file that an operator wrote is read as strictly as a tenant's body.
  {
    from: /^providers\/FeeSchedule\.ts$/,
    files: ["domain/", "providers/ContractFees.ts", "http/json/StrictJson.ts", "ConfigRules.ts"],
    packages: [core, /^node:fs$/]
  },
  {
    from: /^providers\/(\w+)\/Settings\.ts$/,
    files: [
      "domain/",
      "providers/$1/",
      "providers/ProviderModule.ts",
      "providers/CountryList.ts",
      "providers/FeeSchedule.ts",
      "providers/PayerEmail.ts",
      "providers/PublicKeys.ts",
      "ConfigRules.ts"
    ],
    packages: [core, crypto]
  },
  // What left the process and what did not is known to the connection only.
  {
    from: /^providers\/Transport\.ts$/,
    files: [
      "domain/Json.ts",
      "runtime/ClientSpan.ts",
      "runtime/CallTrail.ts",
      "runtime/CallTurn.ts",
      "runtime/CapturedCall.ts",
      "runtime/LatestTime.ts",
      "runtime/Timer.ts",
      "runtime/Tracing.ts",
      "providers/CallPhases.ts",
      "providers/PlainBody.ts"
    ],
    packages: [core, /^@effect\/platform-node\/Undici$/]
  },
  { from: /^providers\/CallPhases\.ts$/, files: ["domain/CallTimes.ts"], packages: [core, /^@effect\/platform-node\/Undici$/] },
  { from: /^providers\/PlainBody\.ts$/, files: [], packages: [core, /^node:zlib$/] },
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
      "providers/FeeSchedule.ts",
      // What several wires share, and none of them owns.
      "providers/Balances.ts",
      "providers/Clawbacks.ts",
      "providers/Client.ts",
      "providers/Connection.ts",
      "providers/CountryBranches.ts",
      "providers/Csv.ts",
      "providers/Movements.ts",
      "providers/OwnAddresses.ts",
      "providers/PayerEmail.ts",
      "providers/ProviderText.ts",
      "providers/PublicKeys.ts",
      "providers/Quotes.ts",
      "providers/AnswerParsing.ts",
      "providers/ReferenceId.ts",
      "providers/Refusals.ts",
      "providers/ProviderStatus.ts",
      "providers/Rows.ts",
      "providers/SharedMemory.ts",
      "providers/Statements.ts",
      "providers/Tokens.ts",
      "providers/CallbackVerification.ts"
    ],
    packages: [core, crypto, http]
  },
  {
    from: /^providers\/Client\.ts$/,
    files: ["domain/", "runtime/CapturedCall.ts", "runtime/Timer.ts", "providers/Transport.ts"],
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
    files: ["runtime/PathPattern.ts", "domain/", "services/ports/Provider", "simulator/"],
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
      "providers/Rows.ts",
      "providers/SharedMemory.ts",
      "providers/Statements.ts",
      "providers/Transport.ts",
      "providers/WireNumber.ts"
    ],
    packages: [core, crypto, http]
  }
]
