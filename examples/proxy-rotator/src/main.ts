// `npm run example:proxies`: a forward proxy over 240 proxies. Bad proxies are ejected, and stay ejected after kill -9.
import { rotate } from './rotate.js'
import { serve } from './serve.js'

const [, script = '', here = '.', role, file = ''] = process.argv

if (role === 'serve') await serve(file)
else await rotate(script, here)
