import { z } from 'zod'
import type { Schema, Schemas } from './arbitrary.js'

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: Schema
}

interface Operation {
  operationId: string
  summary: string
  description: string
  tags: string[]
  'x-role'?: string
  security?: object[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>
}

export interface Document {
  openapi: string
  info: { title: string; version: string; description: string; license: object }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  components: { schemas: Schemas; securitySchemes: Record<string, object> }
  paths: Record<string, Record<string, Operation>>
}

export interface Listed {
  method: string
  path: string
  operation: Operation
}

/** Every operation of a document. */
export const operationsOf = ({ paths }: Document): Listed[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )

/** Checks values against schemas of the document itself, as a client that was generated from it would. */
export function checker(document: Document): (schema: Schema, value: unknown) => string | undefined {
  const text = JSON.stringify(document.components.schemas).replaceAll('#/components/schemas/', '#/$defs/')
  const $defs = JSON.parse(text) as Schemas
  const made = new Map<string, z.ZodType>()
  return (schema, value) => {
    const key = JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/')
    let check = made.get(key)
    if (check === undefined) {
      check = z.fromJSONSchema({ ...JSON.parse(key), $defs })
      made.set(key, check)
    }
    const read = check.safeParse(value)
    return read.success ? undefined : z.prettifyError(read.error)
  }
}
