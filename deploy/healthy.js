// Exits 0 where the gateway of this container or machine is ready: the health check of an image, whose other format (OCI) has no field for one.
fetch(`http://127.0.0.1:${process.env.MANAGEMENT_PORT ?? "8081"}/readyz`, { signal: AbortSignal.timeout(2500) }).then(
  (answer) => process.exit(answer.ok ? 0 : 1),
  () => process.exit(1)
)
