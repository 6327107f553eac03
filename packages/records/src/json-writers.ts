import { breakerEventSchema } from './breaker.js'
import { createTextCodec } from './codec/json-writer.js'
import { auditSchema, errorRecordSchema } from './errors.js'
import { eventSchema, sessionSchema } from './session.js'

// The records that are only ever added, as the text that stores and logs keep of them.

export const sessionText = createTextCodec(sessionSchema)
export const eventText = createTextCodec(eventSchema)
export const errorRecordText = createTextCodec(errorRecordSchema)
export const auditText = createTextCodec(auditSchema)
export const breakerEventText = createTextCodec(breakerEventSchema)
