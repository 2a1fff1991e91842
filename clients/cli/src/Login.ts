import { readFile } from "node:fs/promises"
import process from "node:process"
import { createInterface } from "node:readline/promises"
import { Writable } from "node:stream"
import { command, text } from "./CommandLine.ts"
import { Refusal, WrongUsage } from "./Refusal.ts"
import type { Screen } from "./Screen.ts"
import { isLoopback, keyIn, type Profile, profileOption, Session, saveProfile } from "./Session.ts"

export const login = command({
  name: "login",
  description:
    "Keep a gateway's address and a key of a tenant for the other commands, once a signed request has shown that they work",
  options: {
    url: text("the gateway's address, such as https://api.gateway.example; asked for on a terminal"),
    key: text("a file with what `gateway key issue --json` printed; asked for on a terminal"),
    profile: profileOption
  },
  examples: [
    "gateway login --url http://127.0.0.1:8080 --key .data/tenant-test.json",
    "gateway login --url https://api.gateway.example --key key.json --profile shop"
  ],
  run: async ({ key, profile: name = "default", url }, screen) => {
    const isAsked = process.stdin.isTTY && screen.terminal.isTerminal
    if (!isAsked && (url === undefined || key === undefined))
      throw new WrongUsage("give --url and --key: there is no terminal to ask at")
    const address = addressOf(url ?? (await ask(screen, "The gateway's address")))
    const issued = key === undefined ? await askForKey(screen) : await readKey(key)
    const mode = typeof issued.mode === "string" ? issued.mode : null
    const profile: Profile = { ...issued, url: address, mode }
    await new Session(screen, profile).call((gateway, options) => gateway.account.capabilities(options))
    const file = await saveProfile(screen, name, profile)
    const { app_id, key_id } = profile
    screen.result({ profile: name, url: address, app_id, key_id, mode, file }, [
      `Logged in to ${address} as ${app_id} with the ${mode === null ? "" : `${mode} `}key ${key_id}.`,
      `It is kept in ${file}, readable by you only.`
    ])
  }
})

/** The key is sent with each request: only a loopback address may do without TLS. */
const addressOf = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.pathname !== "/" || url.search !== "")
    throw new Refusal(`${text} is no gateway's address: give one such as https://api.gateway.example`)
  if (url.protocol === "http:" && !isLoopback(text)) throw new Refusal(`${url.origin} would send the key unencrypted: use https`)
  return url.origin
}

const readKey = async (file: string) => {
  const json = await readFile(file, "utf8").catch(() => {
    throw new Refusal(`cannot read ${file}`)
  })
  const key = keyIn(json)
  if (key === undefined) throw new Refusal(`${file} is no key file: make one with gateway key issue --json`)
  return key
}

/** A secret is not shown while it is typed. */
const ask = async ({ terminal: { signal } }: Screen, question: string, isSecret = false): Promise<string> => {
  const output = isSecret ? new Writable({ write: (_chunk, _encoding, done) => done() }) : process.stderr
  const lines = createInterface({ input: process.stdin, output, terminal: true })
  lines.once("SIGINT", () => process.kill(process.pid, "SIGINT"))
  if (isSecret) process.stderr.write(`${question}: `)
  try {
    return (await lines.question(isSecret ? "" : `${question}: `, { signal })).trim()
  } finally {
    lines.close()
    if (isSecret) process.stderr.write("\n")
  }
}

const askForKey = async (screen: Screen) => {
  const typed = {
    app_id: await ask(screen, "app_id"),
    key_id: await ask(screen, "key_id"),
    api_key: await ask(screen, "api_key", true),
    signing_secret: await ask(screen, "signing_secret", true)
  }
  const key = keyIn(JSON.stringify(typed))
  if (key === undefined) throw new Refusal("that is no key: give each part as gateway key issue --json printed it")
  return key
}
