import { OpenApi } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { PARAMETER } from "../api/Page.ts"
import { exampleComponents } from "./OpenApiErrors.ts"
import { introduction } from "./OpenApiIntroduction.ts"
import { operationOf, securitySchemes } from "./OpenApiOperations.ts"
import { isTree, namedSchemas, type Tree, treeOf, withMode } from "./OpenApiSchemas.ts"
import { webhooks } from "./OpenApiWebhooks.ts"
import { groupTexts } from "./OperationTexts.ts"

/**
 * The API in OpenAPI 3.1 (`GET /openapi.json`). Paths and schemas are those that the endpoints decode and respond with; errors are the
 * domain's own, with their status and class.
 */
export const describeInterface = (): Tree => {
  const generated = OpenApi.fromApi(Api, GENERATED)
  const { named, schemas } = namedSchemas(generated.components.schemas)
  const operations = Object.entries(generated.paths).flatMap(([path, item]) =>
    Object.entries(treeOf(named(item))).map(([method, operation]) => ({ path, method, operation: treeOf(operation) }))
  )
  const requests = new Set(operations.map(({ operation }) => requestName(operation)))
  const paths = Object.keys(generated.paths).map((path) => [
    path,
    Object.fromEntries(
      operations
        .filter((one) => one.path === path)
        .map(({ method, operation }) => [method, operationOf(method.toUpperCase(), path, operation)])
    )
  ])
  return {
    openapi: "3.1.0",
    info: {
      title: "Payment gateway",
      version: VERSION,
      description: introduction,
      contact: { name: "The operator of this gateway" },
      license: { name: "Proprietary", identifier: "LicenseRef-Proprietary" }
    },
    servers: [{ url: "/" }],
    tags: Object.entries(groupTexts).map(([name, { description, title }]) => ({ name, description, "x-displayName": title })),
    paths: Object.fromEntries(paths),
    webhooks,
    components: {
      schemas: Object.fromEntries(
        Object.entries(schemas).map(([name, schema]) => [name, requests.has(name) && isTree(schema) ? withMode(schema) : schema])
      ),
      examples: exampleComponents,
      securitySchemes
    }
  }
}

const GENERATED = { includeAnnotationKey: (key: string) => key === PARAMETER }
const VERSION = "1.0.0"
const requestName = ({ requestBody }: Tree): string | undefined => {
  const { schema } = treeOf(treeOf(treeOf(requestBody)["content"])["application/json"])
  const ref = treeOf(schema)["$ref"]
  return typeof ref === "string" ? ref.split("/").at(-1) : undefined
}
