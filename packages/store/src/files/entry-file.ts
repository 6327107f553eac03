import {
  convertDeadLetter,
  type DeadLetter,
  deadLetterCodec,
  isOldRecord,
  OldRecordReader,
} from '@holdfast/records'

/** The fields of a file besides those of the entry. */
interface StoredLease {
  /** The owner of the lease. */
  lease_owner?: string
  /** The order of insertion. */
  sequence?: number
}

/** The content of a file, or the reason why it is not valid. */
type ParsedEntry =
  | { entry: DeadLetter; owner: string | undefined; sequence: number | undefined }
  | { problem: string }

type ForeignEntry = Record<string, unknown>

/** Whether another program wrote the file, in the format of earlier systems. Files of this store have a schema field. */
const isForeignEntry = (wire: unknown): wire is ForeignEntry => isOldRecord(wire) && wire.schema === undefined

/** Converts an entry of another program. A processed entry becomes `completed`, so that it is not replayed. */
function fromForeignEntry(wire: ForeignEntry): unknown {
  const entry = convertDeadLetter(new OldRecordReader(wire))
  return wire.processed === true ? { ...entry, status: 'completed' } : entry
}

export function parseEntry(content: Buffer): ParsedEntry {
  let wire: unknown
  try {
    wire = JSON.parse(content.toString())
  } catch {
    return { problem: 'not valid JSON' } // the message of the parser may quote the payload
  }
  const decoded = deadLetterCodec.safeDecode(isForeignEntry(wire) ? fromForeignEntry(wire) : wire)
  if (!decoded.success)
    return {
      problem: decoded.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '),
    }
  const { lease_owner: owner, sequence } = wire as StoredLease
  return { entry: decoded.data, owner, sequence }
}

export function serializeEntry(entry: DeadLetter, sequence: number, owner: string | undefined): string {
  const wire = { ...deadLetterCodec.encode(entry), sequence, lease_owner: owner }
  return `${JSON.stringify(wire, null, 1)}\n`
}
