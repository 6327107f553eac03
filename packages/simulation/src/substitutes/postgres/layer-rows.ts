import { fromLayerRow, type LayerRow, toLayerColumns } from '../../../../store/src/layer-rows.js'
import type { PostgresLayers } from '../../../../store/src/postgres/layers.js'
import type { LayerVersion } from '../../../../store/src/store.js'
import { PostgresError } from './postgres-error.js'
import type { SimulatedPostgres } from './server.js'

/** Statements about live changes begin with this text. */
export const LAYER_STATEMENT = 'LAYER '

/** Replaces the SQL of live changes, whose code is otherwise that of the store. */
export function simulateLayerStatements(layers: PostgresLayers): PostgresLayers {
  const { statements } = layers as unknown as { readonly statements: object }
  const names = Object.keys(statements)
  return Object.assign(layers, {
    statements: Object.fromEntries(names.map((name) => [name, `${LAYER_STATEMENT}${name}`])),
  })
}

/** What a statement about live changes does. */
export interface LayerEffect {
  readonly rows?: readonly LayerRow[]
  readonly rowCount?: number
  /** The version that the transaction inserts. */
  readonly inserted?: number
  /** Makes the change, when the transaction is committed. @throws PostgresError if another transaction was faster */
  readonly apply?: () => void
}

const toRow = (version: LayerVersion): LayerRow => ({
  version: version.version,
  at: String(version.at.getTime()),
  ...toLayerColumns(version),
})

/** Prepares a statement about live changes, which the server executes as methods of the store. @throws PostgresError */
export function prepareLayerStatement(
  postgres: SimulatedPostgres,
  text: string,
  values: readonly unknown[],
  now: number,
): LayerEffect {
  const call = (method: string, ...args: readonly unknown[]) =>
    postgres.execute({ id: postgres.createCommandId(), method: `layers.${method}`, args }, now)
  const selectAll = () => (call('history') as LayerVersion[]).map(toRow)
  const [first] = values as [number]
  switch (text.slice(LAYER_STATEMENT.length)) {
    case 'selectAll':
      return { rows: selectAll() }
    case 'selectLatest': {
      const latest = call('latest') as LayerVersion | undefined
      return { rows: latest === undefined ? [] : [toRow(latest)] }
    }
    case 'exists': {
      const [version, by, at, layer] = values
      return {
        rows: selectAll().filter(
          (row) =>
            row.version === version && row.changed_by === by && row.at === String(at) && row.layer === layer,
        ),
      }
    }
    case 'insert': {
      postgres.rejectIfFaulty(false)
      const [version, changed_by, reason, at, layer] = values as [number, string, string, number, string]
      // PostgreSQL would wait for the other transaction, which is committed in most cases.
      const isInserted = postgres.layerInserts().get(version)?.isOpen === true
      if (isInserted || (selectAll()[0]?.version ?? 0) !== version - 1) return { rowCount: 0 }
      const added = fromLayerRow({ version, changed_by, reason, at: String(at), layer }, new Date(at))
      const apply = () => {
        if (call('append', added, version - 1) !== true)
          throw new PostgresError(['40001', 'could not serialize access due to concurrent update'])
      }
      return { rowCount: 1, inserted: version, apply }
    }
    case 'deleteOld': {
      postgres.rejectIfFaulty(false)
      return {
        rowCount: Math.max(0, selectAll().length - first),
        apply: () => call('expire', first),
      }
    }
    case 'update':
      postgres.rejectIfFaulty(false)
      return { rowCount: 1, apply: () => call('rewrite', first, JSON.parse(values[1] as string)) }
    // The simulation damages no rows.
    default:
      throw new PostgresError(['42601', `unknown statement ${text}`])
  }
}
