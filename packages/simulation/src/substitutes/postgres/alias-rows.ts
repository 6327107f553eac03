import type { DeadLetterAliases } from '../../../../store/src/postgres/aliases.js'
import type { SimulatedPostgres } from './server.js'

/** Statements about aliases of dead letters begin with this text. */
export const ALIAS_STATEMENT = 'ALIAS '

const UPSERT = `${ALIAS_STATEMENT}UPSERT`
const SELECT = `${ALIAS_STATEMENT}SELECT`

/** Replaces the SQL of aliases, whose code is otherwise that of the store. Aliases are not deleted within the time of a simulation. */
export const simulateAliasStatements = (aliases: DeadLetterAliases): DeadLetterAliases =>
  Object.assign(aliases, {
    statements: { upsertMany: UPSERT, selectMany: SELECT, selectByPrefix: `${ALIAS_STATEMENT}SELECT NONE` },
  })

/** Executes a statement about aliases. @throws PostgresError while a fault is on */
export function executeOnAliases(
  postgres: SimulatedPostgres,
  text: string,
  values: readonly unknown[],
): Record<string, unknown>[] {
  postgres.rejectIfFaulty(text !== UPSERT)
  const [hashes = [], , aliases = []] = values as [string[]?, string[]?, string[]?]
  if (text === UPSERT)
    for (const [i, hash] of hashes.entries()) postgres.aliases().set(hash, aliases[i] as string)
  if (text !== SELECT) return []
  return hashes.flatMap((id) => {
    const value = postgres.aliases().get(id)
    return value === undefined ? [] : [{ id, value }]
  })
}
