// Checks the contents of the database with SQL.
import type { Server } from './server.js'
import type { Document } from './storage.js'

/** The number of missing rows, of duplicate rows, and of documents that are stored in part. */
export interface Findings {
  readonly missing: number
  readonly duplicate: number
  readonly partial: number
}

const FIND = (expected: string) => `
  WITH expected AS (SELECT * FROM jsonb_to_recordset('${expected}') AS e(id text, chunks int, entities jsonb)),
  links AS (SELECT id AS document, jsonb_array_elements_text(entities) AS entity FROM expected),
  found AS (SELECT e.id, e.chunks AS wanted, (SELECT count(DISTINCT position) FROM chunks WHERE document = e.id) AS chunks FROM expected e)
  SELECT
    (SELECT sum(wanted - chunks) FROM found)
      + (SELECT count(*) FROM links WHERE NOT EXISTS (SELECT FROM mentions m WHERE m.document = links.document AND m.entity = links.entity))
      AS missing,
    (SELECT count(*) FROM chunks) - (SELECT count(*) FROM (SELECT DISTINCT document, position FROM chunks) AS c)
      + (SELECT coalesce(sum(abs(e.mentions - (SELECT count(*) FROM mentions m WHERE m.entity = e.name))), 0) FROM entities e)
      AS duplicate,
    (SELECT count(*) FROM found WHERE chunks NOT IN (0, wanted)) AS partial
`

/** Compares the stored rows with the expected ones. */
export async function check(server: Server, documents: readonly Document[]): Promise<Findings> {
  const expected = documents.map(({ id, chunks, entities }) => ({ id, chunks: chunks.length, entities }))
  const rows = await server.admin(FIND(JSON.stringify(expected).replaceAll("'", "''")), 'rag')
  const [row] = rows as Record<keyof Findings, string>[]
  return { missing: Number(row?.missing), duplicate: Number(row?.duplicate), partial: Number(row?.partial) }
}
