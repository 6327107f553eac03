import { textCodec } from '../codec/text.js'
import { breakerEventSchema } from './breaker.js'
import { auditSchema, errorRecordSchema } from './errors.js'
import { eventSchema, sessionSchema } from './session.js'

// The records that are only ever added, as the text that stores and logs keep of them.

export const sessionText = textCodec(sessionSchema)
export const eventText = textCodec(eventSchema)
export const errorRecordText = textCodec(errorRecordSchema)
export const auditText = textCodec(auditSchema)
export const breakerEventText = textCodec(breakerEventSchema)
