// Records must not contain the name of the machine that wrote them.
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'

os.hostname = () => 'golden'
syncBuiltinESMExports()
