import { fileURLToPath } from 'node:url'
import preact from '@preact/preset-vite'
import { defineConfig } from 'vite'

/** The server ships the page: its files lie beside the server's own. */
const outDir = fileURLToPath(new URL('../server/dist/dashboard', import.meta.url))

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [preact({ prefreshEnabled: false, devToolsEnabled: false })],
  // For work on the page itself: `npx vite packages/dashboard` beside a server on its usual port.
  server: { proxy: { '/api': 'http://127.0.0.1:8000' } },
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2022',
    // The page's policy allows no inline script and no data in place of a file.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // How long the parts of a build took says nothing on a machine that does other things besides.
    rolldownOptions: { checks: { bundlerTimings: false } },
  },
})
