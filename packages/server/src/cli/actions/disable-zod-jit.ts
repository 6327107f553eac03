import { config } from 'zod'

/** A file is checked once: to generate code for that takes longer than it saves. Must run before a schema is made. */
config({ jitless: true })
