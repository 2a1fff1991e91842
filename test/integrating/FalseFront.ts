import { createServer, type Socket } from "node:net"

/** What a front between the gateway and its client can answer, as the bytes on the wire; `silence` answers nothing. */
export const silence = "silence"

export const http = (status: number, body: string, headers: ReadonlyArray<string> = []): string =>
  [`HTTP/1.1 ${status} Said`, `Content-Length: ${Buffer.byteLength(body)}`, "Connection: close", ...headers, "", body].join(
    "\r\n"
  )

export const accepted = (reference: string, status: string): string =>
  http(201, JSON.stringify({ code: 201, message: "ok", data: { reference, status } }))
export const read = (reference: string, status: string): string => accepted(reference, status).replaceAll("201", "200")
/** Its provider contradicts the failure. */
export const contested = (reference: string): string =>
  http(200, JSON.stringify({ code: 200, message: "ok", data: { reference, status: "failed", needs_review: true } }))

export const refused = (
  status: number,
  code: string,
  kind: "terminal" | "retriable" | "ambiguous",
  { details = {}, headers = [] }: { readonly details?: object; readonly headers?: ReadonlyArray<string> } = {}
): string => {
  const classes = { terminal: kind === "terminal", retriable: kind === "retriable", ambiguous: kind === "ambiguous" }
  const error = { code, message: "no", ...classes, details }
  return http(status, JSON.stringify({ code: status, message: "no", error }), headers)
}

/** Every answer that is not the gateway's. */
export const wrongAnswers: ReadonlyArray<string> = [
  http(502, '{"message":"Bad Gateway"}'),
  ...["null", "[]", '"bad"', "7", "<html>", '{"code":200}', '{"code":200,"data":null}', '{"code":200,"data":[]}'].map((body) =>
    http(200, body)
  ),
  http(503, "<html>Service Unavailable</html>"),
  http(302, "", ["Location: /stolen"]),
  http(422, '{"code":422,"error":null}'),
  http(422, '{"code":422,"error":{"code":"x","terminal":true,"retriable":true,"ambiguous":false,"details":{}}}'),
  http(422, '{"code":422,"error":{"code":"x","terminal":true,"retriable":false,"ambiguous":false,"details":null}}'),
  http(200, '{"code":201,"data":{"reference":"R","status":"successful"}}'),
  http(200, '{"code":200,"data":{"reference":"R","status":"successful"}}').slice(0, -5),
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nodd\r\n",
  "not HTTP at all\r\n\r\n",
  "",
  refused(429, "rate_limited", "retriable"),
  refused(409, "request_in_progress", "retriable", { details: { reference: "R" } })
]

export interface Asked {
  readonly line: string
  readonly body: string
}

/**
 * A server that answers by a list for each payment: what carries its idempotency key, or reads its reference, which is the same text. The
 * last answer of a list is repeated.
 */
export const falseFront = async (answers: Readonly<Record<string, ReadonlyArray<string>>>) => {
  const asked = new Map<string, Array<Asked>>()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let came = ""
    socket
      .on("error", () => {})
      .on("data", (part) => {
        came += part.toString("latin1")
        const [head = "", body = ""] = came.split("\r\n\r\n")
        if (!came.includes("\r\n\r\n") || body.length < Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)) return
        const name = /^idempotency-key: (.+)$/im.exec(head)?.[1] ?? /^GET \S*\/(\S+)/.exec(head)?.[1] ?? ""
        const own = asked.get(name) ?? []
        asked.set(name, [...own, { line: head.split("\r\n")[0] ?? "", body }])
        const answer = answers[name]?.[own.length] ?? answers[name]?.at(-1) ?? ""
        if (answer !== silence) socket.end(answer, "latin1")
      })
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`, asked, close }
}
