import { defineConfig } from 'vitepress';

/** The pages of a section, as `[title, path]`. */
const section = (text, pages) => ({
  text,
  collapsed: false,
  items: pages.map(([title, link]) => ({ text: title, link: `/docs/${link}` })),
});

export default defineConfig({
  title: 'tokenctl',
  description: 'Revoke, rotate and audit the OAuth2 tokens of automation controllers',
  srcDir: 'pages',
  // A flag is not broken at its hyphens; tables have many columns.
  head: [['style', {}, '.flag { white-space: nowrap } .vp-doc :is(td, th) { padding: 6px 10px !important }']],
  markdown: {
    // As GitHub names them: the links between the pages are written for that.
    anchor: {
      slugify: (heading) =>
        heading
          .toLowerCase()
          .replace(/[^\p{L}\p{N}_ -]/gu, '')
          .replaceAll(' ', '-'),
    },
    // Pages are text: what looks like HTML or a template is shown as it is.
    html: false,
    config(md) {
      const { rules } = md.renderer;
      const { fence } = rules;
      rules.code_inline = (tokens, index) => {
        const text = md.utils.escapeHtml(tokens[index].content);
        return `<code v-pre>${text.replaceAll(/--[\w-]+/g, '<span class="flag">$&</span>')}</code>`;
      };
      rules.code_block = (tokens, index, ...others) => {
        tokens[index].info = 'sh';
        return fence(tokens, index, ...others);
      };
    },
  },
  vite: { build: { chunkSizeWarningLimit: 4000 } },
  themeConfig: {
    search: { provider: 'local' },
    outline: 'deep',
    nav: [
      { text: 'Start here', link: '/docs/' },
      { text: 'Commands', link: '/docs/commands' },
      { text: 'Changelog', link: '/CHANGELOG' },
    ],
    sidebar: [
      section('Start here', [
        ['Overview', ''],
        ['Install', 'install'],
        ['What each command is for', 'overview'],
        ['Glossary', 'glossary'],
      ]),
      section('Incidents', [
        ['A stolen token', 'runbooks/stolen-token'],
        ['A leaked repository', 'runbooks/leaked-repository'],
        ['A compromised identity provider', 'runbooks/compromised-identity-provider'],
        ['The controller is down', 'runbooks/controller-down'],
      ]),
      section('Guides', [
        ['A quarterly audit', 'guides/quarterly-audit'],
        ['A leaving employee', 'runbooks/leaving-employee'],
        ['Departed users of a directory', 'identity-providers'],
        ['Security events', 'signals'],
        ['The token of a pipeline', 'guides/pipeline-token'],
        ['Short-lived tokens', 'short-lived-tokens'],
        ['The upgrade to 2.7', 'runbooks/upgrade-to-2.7'],
        ['Several controllers', 'guides/several-controllers'],
        ['Behind a proxy', 'guides/proxy'],
        ['Scheduled sweeps', 'runbooks/scheduled-sweeps'],
        ['Jobs', 'jobs'],
        ['Upgrades, removal, backups', 'upgrades'],
        ['Kubernetes', 'kubernetes'],
        ['Monitoring', 'monitoring'],
      ]),
      section('Reference', [
        ['Commands', 'commands'],
        ['Configuration', 'configuration'],
        ['Policy', 'policy'],
        ['Database', 'database'],
        ['Console', 'console'],
        ['Audit log', 'audit-log'],
        ['Export and reports', 'audit-log-export'],
      ]),
      section('How it works', [
        ['Claims', 'claims'],
        ['What versions promise', 'compatibility-promise'],
        ['Tested versions', 'compatibility'],
        ['Fields', 'fields'],
        ['Performance', 'performance'],
        ['Acceptance tests', 'acceptance'],
      ]),
      {
        text: 'The automation service',
        items: [
          { text: 'Run it', link: '/service/docs/service' },
          { text: 'Rights', link: '/service/docs/rights' },
          { text: 'Single sign-on', link: '/service/docs/single-sign-on' },
        ],
      },
    ],
  },
});
