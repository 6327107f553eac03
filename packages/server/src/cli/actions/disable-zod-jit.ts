import { config } from 'zod'

/** Disables the code generation of zod, which takes longer than checking one file without it. Must run before a schema is created. */
config({ jitless: true })
