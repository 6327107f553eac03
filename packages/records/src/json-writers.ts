import { breakerEventSchema } from './breaker.js'
import { createTextCodec } from './codec/json-writer.js'
import { auditSchema, errorRecordSchema } from './errors.js'
import { eventSchema, sessionSchema } from './session.js'

// Text codecs of the records of journals and logs.

/** Writes and reads sessions as JSON text. */
export const sessionText = createTextCodec(sessionSchema)
/** Writes and reads events as JSON text. */
export const eventText = createTextCodec(eventSchema)
/** Writes and reads error records as JSON text. */
export const errorRecordText = createTextCodec(errorRecordSchema)
/** Writes and reads audit records as JSON text. */
export const auditText = createTextCodec(auditSchema)
/** Writes and reads state changes of breakers as JSON text. */
export const breakerEventText = createTextCodec(breakerEventSchema)
