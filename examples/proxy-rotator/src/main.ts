// `npm run example:proxies`: hundreds of proxies behind one, the bad ones set aside, also after a kill -9.
import { rotate } from './rotate.js'
import { serve } from './serve.js'

const [, script = '', here = '.', role, file = ''] = process.argv

if (role === 'serve') await serve(file)
else await rotate(script, here)
