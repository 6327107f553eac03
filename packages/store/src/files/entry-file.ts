import {
  convertDeadLetter,
  type DeadLetter,
  deadLetterCodec,
  isOldRecord,
  OldRecordReader,
} from '@holdfast/records'

/** What an entry's file holds besides the entry. */
interface StoredLease {
  /** Who holds the lease. */
  lease_owner?: string
  /** The order of adding. */
  sequence?: number
}

/** What an entry's file says, or why it says nothing. */
type ParsedEntry =
  | { entry: DeadLetter; owner: string | undefined; sequence: number | undefined }
  | { why: string }

type ForeignEntry = Record<string, unknown>

/** Whether another program wrote it, in the older words: every file of ours says its schema. */
const isForeignEntry = (wire: unknown): wire is ForeignEntry => isOldRecord(wire) && wire.schema === undefined

/** A foreign entry in our words, with what it lacks filled in. One that was processed is not to be replayed. */
function fromForeignEntry(wire: ForeignEntry): unknown {
  const entry = convertDeadLetter(new OldRecordReader(wire))
  return wire.processed === true ? { ...entry, status: 'completed' } : entry
}

export function parseEntry(content: Buffer): ParsedEntry {
  let wire: unknown
  try {
    wire = JSON.parse(content.toString())
  } catch {
    return { why: 'it is no JSON' } // what the parser quotes may be part of a payload
  }
  const decoded = deadLetterCodec.safeDecode(isForeignEntry(wire) ? fromForeignEntry(wire) : wire)
  if (!decoded.success)
    return {
      why: decoded.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '),
    }
  const { lease_owner: owner, sequence } = wire as StoredLease
  return { entry: decoded.data, owner, sequence }
}

export function serializeEntry(entry: DeadLetter, sequence: number, owner: string | undefined): string {
  const wire = { ...deadLetterCodec.encode(entry), sequence, lease_owner: owner }
  return `${JSON.stringify(wire, null, 1)}\n`
}
