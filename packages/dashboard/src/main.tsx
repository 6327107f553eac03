import './language.js'
import '@picocss/pico/css/pico.min.css'
import 'uplot/dist/uPlot.min.css'
import './style/base.css'
import './style/parts.css'
import './style/views.css'
import './style/replays.css'
import { render } from 'preact'
import { page } from './browser.js'
import { startEventStream } from './events/event-stream.js'
import { interceptLinks } from './route.js'
import { App } from './shell/app.js'
import { PAGES } from './shell/pages.js'
import { listenForKeys } from './shell/palette.js'
import { startTheme } from './theme.js'

startTheme()
interceptLinks(new Set(PAGES.map(({ path }) => path)))
startEventStream()
listenForKeys()
render(<App />, page.getElementById('app') as HTMLElement)
