import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

// A process of its own: the provider, answering at once. It speaks the wire of the first provider of the default corridors as far as a
// payout needs it, keeps nothing, and accepts everything; asked about a payout, it has delivered it. Ours and the bare service call the same one.

const FEE = 1000
const CURRENCY = "UGX"
const ASKED = "GET /transactions/"
let accepted = 0

const read = async (request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString("utf8"))
}

const answer = (response: ServerResponse, status: number, body: unknown): void => {
  const text = JSON.stringify(body)
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", "content-length": Buffer.byteLength(text) })
  response.end(text)
}

/** The token says what was quoted, so that the payout needs no memory. */
const quotation = ({ amount }: Readonly<Record<string, unknown>>) =>
  success({
    expires: "2099-01-01T00:00:00+00:00",
    token: `${amount}`,
    quotation: {
      sourceCountry: "UG",
      sourceCurrency: CURRENCY,
      sourceAmount: String(amount),
      destinationCountry: "UG",
      destinationCurrency: CURRENCY,
      destinationAmount: String(amount),
      exchangeRate: "1",
      totalFees: String(FEE),
      totalAmount: String(Number(amount) + FEE),
      type: "momo",
      amountType: "SOURCE",
      amount: String(amount)
    }
  })

const success = (data: unknown) => ({ code: 200, success: true, data })

const transaction = (amount: string, stands: object) => ({
  type: "payout",
  currency: CURRENCY,
  amount: Number(amount),
  fees: FEE,
  sourceCurrency: CURRENCY,
  destinationCurrency: CURRENCY,
  destinationAmount: amount,
  reason: null,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  ...stands
})

/** Its id says how much it was, so that the question about it needs no memory either. */
const payout = ({ token, transactionRef }: Readonly<Record<string, unknown>>) =>
  success({
    transaction: transaction(`${token}`, { transactionId: `BP${++accepted}-${token}`, transactionRef, status: "pending" })
  })

const delivered = (transactionId: string) =>
  success({ transactions: [transaction(transactionId.split("-")[1] ?? "", { transactionId, status: "successful" })] })

const server = createServer((request, response) => {
  const route = `${request.method} ${request.url?.split("?")[0]}`
  if (route === "GET /auth/token") return answer(response, 200, { status: "200", token: "stub" })
  if (route === "POST /payouts/quotation") return void read(request).then((body) => answer(response, 200, quotation(body)))
  if (route === "POST /payouts") return void read(request).then((body) => answer(response, 200, payout(body)))
  if (route.startsWith(ASKED)) return answer(response, 200, delivered(route.slice(ASKED.length)))
  answer(response, 404, { code: 404, success: false, message: "not found" })
})
// Longer than any round, so that no side ever meets a closing connection.
server.keepAliveTimeout = 600_000
server.listen(0, "127.0.0.1", () => process.send?.(server.address()))
process.on("disconnect", () => process.exit())
