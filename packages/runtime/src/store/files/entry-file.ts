import { type DeadLetter, deadLetterCodec } from '../../records/dead-letter.js'
import { deadLetter } from '../../records/migrate/convert.js'
import { isBag, Reader } from '../../records/migrate/reader.js'

/** What an entry's file holds besides the entry. */
interface Extra {
  /** Who holds the lease. */
  lease_owner?: string
  /** The order of adding. */
  sequence?: number
}

/** What an entry's file says, or why it says nothing. */
type ReadEntry =
  | { entry: DeadLetter; owner: string | undefined; sequence: number | undefined }
  | { why: string }

type Foreign = Record<string, unknown>

/** Whether another program wrote it, in the older words: every file of ours says its schema. */
const isForeign = (wire: unknown): wire is Foreign => isBag(wire) && wire.schema === undefined

/** A foreign entry in our words, with what it lacks filled in. One that was processed is not to be replayed. */
function ours(wire: Foreign): unknown {
  const entry = deadLetter(new Reader(wire))
  return wire.processed === true ? { ...entry, status: 'completed' } : entry
}

export function readEntry(content: Buffer): ReadEntry {
  let wire: unknown
  try {
    wire = JSON.parse(content.toString())
  } catch {
    return { why: 'it is no JSON' } // what the parser quotes may be part of a payload
  }
  const decoded = deadLetterCodec.safeDecode(isForeign(wire) ? ours(wire) : wire)
  if (!decoded.success)
    return {
      why: decoded.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '),
    }
  const { lease_owner: owner, sequence } = wire as Extra
  return { entry: decoded.data, owner, sequence }
}

export function writeEntry(entry: DeadLetter, sequence: number, owner: string | undefined): string {
  const wire = { ...deadLetterCodec.encode(entry), sequence, lease_owner: owner }
  return `${JSON.stringify(wire, null, 1)}\n`
}
