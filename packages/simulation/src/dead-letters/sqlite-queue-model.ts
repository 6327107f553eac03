import type { DeadLetter } from '@holdfast/records'
import { fromRow } from '../../../store/src/sqlite/dead-letter-rows.js'
import { Violation } from '../engine/violation.js'
import type { SimulatedDatabase } from '../sqlite/simulated-database.js'
import { OwnQueueModel, type QueueState } from './own-queue-model.js'
import { isContractId } from './queue-contract.js'

const COLUMNS = 'seq, status, lease_owner, entry, original_payload'
const SELECT_ONE = `SELECT ${COLUMNS} FROM dead_letters WHERE dlq_id = ?`
const SELECT_ALL = `SELECT ${COLUMNS} FROM dead_letters`

type EntryRow = Parameters<typeof fromRow>[0] & { readonly status: string }

/** The promises about the dead letters in one SQLite file. */
export class SqliteQueueModel extends OwnQueueModel {
  protected readonly isDurable = true
  private readonly database: SimulatedDatabase

  constructor(database: SimulatedDatabase) {
    super()
    this.database = database
  }

  /** The state that a power failure would leave is the current one, unless changes of the queue were not flushed. */
  protected read(id: string, state: QueueState): DeadLetter | undefined {
    if (state === 'durable' && this.database.unflushed.has('dead_letters'))
      throw new Violation('lost', `${id} was acknowledged, and a change of the queue was not flushed`)
    const row = this.database.reader()?.prepare(SELECT_ONE).get([id])
    return row && toEntry(row as unknown as EntryRow)
  }

  protected readAll(): DeadLetter[] {
    const rows = this.database.reader()?.prepare(SELECT_ALL).all([]) ?? []
    return rows.map((row) => toEntry(row as unknown as EntryRow)).filter(({ dlqId }) => !isContractId(dlqId))
  }
}

function toEntry(row: EntryRow): DeadLetter {
  const { entry } = fromRow(row)
  if (entry.status !== row.status)
    throw new Violation('lost', `${entry.dlqId} is ${entry.status}, and its index has ${row.status}`)
  return entry
}
