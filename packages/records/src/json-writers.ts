import { breakerEventSchema } from './breaker.js'
import { createTextCodec } from './codec/json-writer.js'
import { auditSchema, errorRecordSchema } from './errors.js'
import { eventSchema, sessionSchema } from './session.js'

// Text codecs of the records of journals and logs.

export const sessionText = createTextCodec(sessionSchema)
export const eventText = createTextCodec(eventSchema)
export const errorRecordText = createTextCodec(errorRecordSchema)
export const auditText = createTextCodec(auditSchema)
export const breakerEventText = createTextCodec(breakerEventSchema)
