import { join } from "node:path"
import { type Context, Effect, Option, Schema } from "effect"
import { Command } from "effect/cli"
import * as App from "../App.ts"
import { Mode } from "../domain/Ids.ts"
import { OperatorName, OperatorRole } from "../domain/Operator.ts"
import { Operators } from "../services/ports/Operators.ts"
import { ProviderRegistry } from "../services/ports/ProviderRegistry.ts"
import { SignIn } from "../services/SignIn.ts"
import type { KnownSimulator } from "../simulator/SimulatorModule.ts"
import { help } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { DataFolder } from "./DataFolder.ts"
import { Installation, onlyForDevelopment } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { addOperator } from "./OperatorAccount.ts"
import { printResult } from "./Output.ts"
import { openGateway } from "./Serve.ts"
import { untilStopped } from "./ServedAddresses.ts"
import { type SimulatorAddress, SimulatorProcess } from "./Simulator.ts"
import { demoTenant, keyFileOf } from "./StartTenant.ts"
import { headerLines, signingHeaders } from "./signing/SignedHeaders.ts"

/** How long an earlier gateway of the same data folder may drain: as long as its requests may take, and a little more. */
const REPLACE_WITHIN_MS = 25_000
const REGISTER_WITHIN = "5 seconds"
const USUAL_CONSOLE_PORT = 8082

/** The console is for the person who tries the gateway on this machine: on its usual port, or on a free one where that port is in use. */
const forDevelopment = Effect.gen(function* () {
  const variables = yield* App.Environment
  const isOthers = ["PORT", "MANAGEMENT_PORT"].some((name) => Number(variables[name]) === USUAL_CONSOLE_PORT)
  const isFree = yield* Effect.isSuccess(App.ensureListenable({ host: "127.0.0.1", port: USUAL_CONSOLE_PORT }))
  return {
    ...variables,
    WEBHOOK_ALLOW_LOOPBACK: variables["WEBHOOK_ALLOW_LOOPBACK"] || "true",
    CONSOLE_PORT: variables["CONSOLE_PORT"] || `${isFree && !isOthers ? USUAL_CONSOLE_PORT : 0}`
  }
})

export const start = Command.make(
  "start",
  {},
  Effect.fn(
    function* () {
      const given = yield* App.settings
      const { dataDir } = given
      yield* replaceOlderGateway(dataDir)
      yield* App.ensureListenable(given)
      const installed = yield* Installation.forServer
      const simulator = yield* startSimulator(installed)
      // Only a process that simulates imports the simulators.
      const { knownSimulators, withSimulators } = yield* Effect.promise(() => import("../simulator/Registry.ts"))
      const settings = withSimulators(installed, (provider) => simulator.baseUrls[provider] ?? "")
      const { consoleUrl, context, url } = yield* openGateway(settings)
      yield* Effect.provide(registerCallbacks(callbacksOf(knownSimulators, settings.providers), simulator, url), context)
      yield* DataFolder.writeProcess(gatewayFile(dataDir), url)
      const operator = yield* Effect.provide(startOperator(dataDir), context)
      yield* printIntroduction(dataDir, { url, consoleUrl, simulatorUrl: simulator.controlUrl, operator }, context)
      return yield* untilStopped
    },
    Effect.scoped,
    Effect.provide(App.logs),
    Effect.provideServiceEffect(App.Environment, forDevelopment),
    onlyForDevelopment("start")
  )
).pipe(
  help(
    "Run the gateway, PostgreSQL and the provider simulator until stopped, with a tenant to try it with. For development: it needs no setting, and refuses to run where a real database or a provider account is set",
    ["gateway start", "Start everything, and print an address, credentials and a signed request"]
  )
)

const gatewayFile = (dataDir: string): string => join(dataDir, "gateway.json")

/** One gateway per data folder: an older one is stopped, and this process takes its place. */
const replaceOlderGateway = Effect.fnUntraced(function* (dataDir: string) {
  const file = gatewayFile(dataDir)
  const exchange = Effect.gen(function* () {
    const older = yield* DataFolder.findProcess(file)
    if (Option.isSome(older) && older.value.pid !== process.pid) {
      yield* Effect.logInfo("an older gateway of this data folder still runs: it is being stopped")
      yield* DataFolder.endProcess(older.value, REPLACE_WITHIN_MS)
    }
    yield* DataFolder.writeProcess(file, "")
  })
  yield* DataFolder.make(dataDir)
  // Two that start at the same time take turns.
  yield* Effect.flatten(App.folderLock(join(dataDir, "start.lock"))(Effect.exit(exchange)))
  yield* Effect.addFinalizer(() => DataFolder.removeOwnProcess(file))
})

/** Restarted whenever it ends while the scope lives, and stopped with it. */
const startSimulator = Effect.fnUntraced(function* (settings: App.ReadySettings) {
  yield* Effect.addFinalizer(() => SimulatorProcess.stop(settings.dataDir))
  const place = yield* SimulatorProcess.ensureRunning(settings)
  yield* Effect.forkScoped(SimulatorProcess.keepRunning(settings))
  return place
})

interface CallbackAddress {
  readonly provider: string
  readonly mode: Mode
  readonly client_id: string
}

/** The accounts whose callbacks the simulator has to send to this gateway. */
const callbacksOf = (
  simulators: ReadonlyArray<Pick<KnownSimulator, "name" | "accountName">>,
  providers: App.Settings["providers"]
): ReadonlyArray<CallbackAddress> => {
  return simulators.flatMap(({ accountName, name }) =>
    providers
      .filter((accounts) => accounts.name === name)
      .flatMap((accounts) =>
        Mode.literals.flatMap((mode) => {
          const client_id = accountName(accounts, mode)
          return client_id === undefined ? [] : [{ provider: name, mode, client_id }]
        })
      )
  )
}

/** In reality this is a field in the provider's dashboard. */
const registerCallbacks = Effect.fnUntraced(function* (
  wishes: ReadonlyArray<CallbackAddress>,
  { controlUrl }: SimulatorAddress,
  gatewayUrl: string
) {
  const registry = yield* ProviderRegistry
  for (const { client_id, mode, provider } of wishes) {
    const url = `${gatewayUrl}/webhooks/${provider}/${registry.routeKey(provider, mode)}`
    const wish = { provider, client_id, url }
    yield* Effect.tryPromise((signal) =>
      fetch(`${controlUrl}/__simulator/callbacks`, { method: "POST", body: JSON.stringify(wish), signal }).then(
        ({ ok, status }) => (ok ? undefined : Promise.reject(new Error(`it answered ${status}`)))
      )
    ).pipe(
      Effect.timeout(REGISTER_WITHIN),
      Effect.mapError((error) => new CommandRefusal(`cannot tell the simulator where to send callbacks: ${error.message}`))
    )
  }
})

interface Addresses {
  readonly url: string
  readonly consoleUrl: string | null
  readonly simulatorUrl: string
  readonly operator: Effect.Success<ReturnType<typeof startOperator>>
}

type OperatorPorts = typeof demoTenant extends (dataDir: string, mode: Mode) => Effect.Effect<infer _A, infer _E, infer R>
  ? R
  : never

const printIntroduction = Effect.fnUntraced(function* (
  dataDir: string,
  { consoleUrl, operator, simulatorUrl, url }: Addresses,
  context: Context.Context<OperatorPorts>
) {
  const key = yield* Effect.provide(demoTenant(dataDir, "live"), context)
  yield* Effect.provide(demoTenant(dataDir, "test"), context)
  const keyFile = keyFileOf(dataDir, "live")
  const testKeyFile = keyFileOf(dataDir, "test")
  const target = `${url}/v1/float`
  const headers = yield* Effect.provide(signingHeaders(key, { method: "GET", url: target, body: new Uint8Array() }), context)
  const lines = headerLines(headers)
  const view = {
    url,
    simulator_url: simulatorUrl,
    console: { url: consoleUrl, name: operator.name, token: operator.token },
    tenant: key,
    sign_and_send: `npm run -s gateway -- sign --method GET --url ${target} --key ${shellQuoted(keyFile)} | curl -sS -H @- ${target}`,
    test_key_file: testKeyFile,
    login: `npm run -s gateway -- login --url ${url} --key ${shellQuoted(testKeyFile)}`,
    trigger: "npm run -s gateway -- trigger 0001",
    curl: `curl -sS ${lines.map((line) => `-H '${line}'`).join(" ")} ${target}`
  }
  yield* printResult(view, [
    `The gateway answers at ${url}`,
    `The provider simulator's control port is ${simulatorUrl}/__simulator/executions`,
    `The operators' console is at ${consoleUrl}`,
    `  log in as ${operator.name} with the token ${operator.token} (kept in ${operatorFileOf(dataDir)})`,
    "",
    `A tenant to try it with (kept in ${keyFile}):`,
    ...Object.entries(key).map(([name, value]) => `  ${name.padEnd(14)}  ${value}`),
    "",
    `Pay with its test key (kept in ${testKeyFile}) from a second terminal; 0001 is refused, 1234 succeeds:`,
    `  ${view.login}`,
    `  ${view.trigger}`,
    "",
    "Sign a request and send it:",
    `  ${view.sign_and_send}`,
    "",
    "The same, signed already (for the next two minutes, once):",
    `  ${view.curl}`,
    "",
    "Stop with Ctrl-C."
  ])
})

/** One word of a POSIX shell, whatever it contains. */
const shellQuoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

const NAME = OperatorName.make("admin")

const Kept = Schema.Struct({ name: OperatorName, role: OperatorRole, token: Schema.String })
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Kept))

const operatorFileOf = (dataDir: string): string => join(dataDir, "operator.json")

/** The operator that `start` creates for the console on first use; the token is stored in the data folder. */
const startOperator = Effect.fn("startOperator")(function* (dataDir: string) {
  const file = operatorFileOf(dataDir)
  const operators = yield* Operators
  const kept = Option.flatMap(yield* DataFolder.read(file), decode)
  const standing = yield* operators.find(NAME)
  if (Option.isSome(kept) && Option.isSome(standing)) return kept.value
  // The operator's token is lost.
  if (Option.isSome(standing)) yield* operators.remove(NAME, yield* auditEntry("operator remove", NAME, {}))
  const added = yield* addOperator(NAME, "admin")
  yield* DataFolder.write(file, `${JSON.stringify(added, null, 2)}\n`)
  return added
}, Effect.provide(SignIn.layer))
