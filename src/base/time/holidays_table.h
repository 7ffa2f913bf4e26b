/* National public holidays of 1990 to 2040, made by tools/holidays from version 0.108 of the Python
 * package holidays. Days are coded as that program says. */
enum { FIRST_YEAR = 1990 };

static const struct country {
    const char *code, *name, *days;
} countries[] = {
    { "AU", "Australia",
      "AZ-ODJ---3BGZ+DY---3BGZ-TDF---3BGZ-KDN---3BGZ-CDV---3BGZ-PDI---3BGZ-HDR---3BGZ9DZ---"
      "3BGZ-LDM---3BGZ-DDU---3BGZ-XDB---3BGZ-ODJ---3BGZ+DY---3BGZ-TDE---3BGZ-LDN---3BGZ6Dc---"
      "3BGZ-PDI---3BGZ-HDQ---3BGZ3Dg---3BGZ-LDM---3BGZ-DDU---3BGZ-XD---3BGZ-IDQ---3BGZ+DY---"
      "3BGZ-TDE---3BGZ-EDT---3BGZ7Dc---3BGZ-PDI---3BGZ-ADX---3BGZ-UDD---3BGZ-MDM---3BGZ-DDU---"
      "3BGZ-QDH--Y-fBGZ-IDP---3BGZ-ADY---3BGZ-TDE---3BGZ-EDT---3BGZ7Db---3BGZ-QDI---3BGZ-ADX---"
      "3BGZ-UDD---3BGZ-MDL---3BGZ8Db---3BGZ-QDH---3BGZ-IDP---3BGZ4De---3BGZ-NDL---3BGZ-EDT---"
      "3BGZ-YCB---2BGZ-JDO---3BGZ-BDX---3B" },
    { "BR", "Brazil",
      "A-nIK--DjVNoH-YXK--DjVNoH-sEK--DjVNoH-jMK--DjVNoH-bUK--DjVNoH-oHK--DjVNoH-gQK--DjVNoH-"
      "XYK--DjVNoH-kLK--DjVNoH-cTK--DjVNoH-wK--DjVNoH-nIK--DjVNoH-YXK--DjVNoH-sDK--DjVNoH-kMK--"
      "DjVNoH-UbK--DjVNoH-oHK--DjVNoH-gPK--DjVNoH-RfK--DjVNoH-kLK--DjVNoH-cTK--DjVNoH-vBJ--"
      "DjVNoH-hPK--DjVNoH-YXK--DjVNoH-sDK--DjVNoH-dSK--DjVNoH-VbK--DjVNoH-oHK--DjVNoH-ZWK--"
      "DjVNoH-tCK--DjVNoH-lLK--DjVNoH-cTK--DjVNoH-pGK--DjVNoH-hOK--DjVNoH-ZXK--DjVNFjH-sDK--"
      "DjVNFjH-dSK--DjVNFjH-VaK--DjVNFjH-pHK--DjVNFjH-ZWK--DjVNFjH-tCK--DjVNFjH-lKK--DjVNFjH-"
      "WaK--DjVNFjH-pGK--DjVNFjH-hOK--DjVNFjH-SdK--DjVNFjH-mKK--DjVNFjH-dSK--DjVNFjH-vCI--"
      "DjVNFjH-iNK--DjVNFjH-aWK--DjVNFj" },
    { "CA", "Canada",
      "A-n-Q-B-yH-Y-f-A-zH-s-M-F-uH-j-U-E-vCFC-Z-c-D-wBGB-n-P-C-xH-g-Y-A-zH-X-g+-0H-k-T-F-uH-c-"
      "b-E-vCFC-u-I-C-xH-n-Q-B-yH-Y-f-A-zH-s-L+-0H-k-U-E-vCFC-S-j-D-wBGB-n-P-C-xH-g-X-B-yH-"
      "R-n+-0H-k-T-F-uH-c-b-E-vCFC-u-H-D-wBGB-g-X-B-yH-Y-f-A-zH-s-L+-0H-d-a-F-uH-V-j-D-wBGB-n-"
      "P-C-xH-Z-e-B-yH-t-K-A-zH-l-T-F-uH-c-b-E-vCFC-n-O-D-wBGB-g-W-C-xH-Z-f-A-zH-s-L+-0H-d-a-F-"
      "uH-V-i-E-vCFC-n-P-C-xH-Z-e-B-yH-t-K-A-zH-l-S+-0H-W-i-E-vCFC-n-O-D-wBGB-g-W-C-xH-S-l-B-"
      "yH-m-S+-0H-d-a-F-uH-x-G-E-vCFC-g-V-D-wBGB-Z-e-B-y" },
    { "CN", "China",
      "AaBB-d--bB-ctBB-K--bB-ciBB-W--bB-cWBB-h--bB-coBB-P--bB-ceBB-Z--bB-cxBB-H--bB-clBB-S--bB-"
      "cbBB-c--bB-cuBB-J--bBB-bChBBBB-TBB--ZBBB-aXBBDB-cBBBD--VBBBB-ZBBoBBBD-JBBDB--VBBBD-"
      "XfBBBBBB-UBBCBB--VBBDB-XVBBCBB-fBBBBBB--VBBBBBB-XClBBDB-MBBBBB--WBBBBBB-XBBaBBBBB-YBBBB"
      "--XBBBBB-YBBuBBBBB-EBBBD--VBBBB-YBkBBDB0bBlB-iBOBBBB-bBXBBBBB-BCZbB-+BBCBBB-"
      "WrBBBBBBtaCqBB-jBBHBBBBBB-XCeBBDB3BaBj-jTBBBBBB-XBBTBBBBB-DBBaB0B-kBBBBB-"
      "ZBBlBBBBBBwBYBBoBB-kBLBBBD-XeBBBBBB6CYBf-jXBBDB-XBvBBBCBoBZyC-KBXEBBCBB-XmBBBB0bBmB-"
      "iBPBBBBBB-XBZBBBBBB8BbcB-9BBBBB-YtBBBBBBrBYBw-jHBBBB-YBiBBBB4aBBj-jSBBBD-"
      "XXBBBBBBBBB+CZDBzB-iBBCBBB-WpBBBBBBuBaCBBo-jBKBBBBBB-XCcBBBB7BaBBBe-kCTBBBBBB-XBUBBBBB-"
      "FaBByB-jCBBBBB-YoBBBBBBwBaBBm-jBOBBBD-XbBBBDB7bBDaC-6BBDBB-WBtBBBBDpBZBCBt-jGBBCBB-"
      "XjBBBBB2aBBBk-jQBBBB-ZCWBBB-EbBaB-+BBB-aqBBBwbBtC-hCHBB-bgBBBBB5aBi-kTBB-bVBBBC-"
      "FCYB1-kBB-boBBBzBaBBBnC-iBLBBBB-ZCbBBBB8bBBd-kXBBBB-ZBvBBBBBpaBx-kEBBB-alBBBC0aBnB-"
      "iBOBB-baBBBB-BbBc-9BBBC-YsBBBBBsCZBCt-jHBBC-ZhBBBC4aBBBi-jSBBBB-ZCUBBBB-FaBBY--BBBBBB-"
      "YBoBBBBBwbBr-jLBB" },
    { "DE", "Germany",
      "-----y-YDeIL--KwjBG-sDLbL-2ulBG-jDTTL-+tmBG-bDbLL--HsnBG-oDOYL-5-UBG-gDXPL--D-UBG-XDfHL"
      "--L-UBG-kDSUL-9-UBG-cDaML--G-UBG-wDHfL-y-UBG-nDPXL-6-UBG-YDeIL--K-UBG-sDKcL-1-UBG-"
      "kDTTL-+-UBG-UDiEL--O-UBG-oDOYL-5-UBG-gDWQL--C-UBG-RDmL--S-UBG-kDSUL-9-UBG-cDaML--G-UBG-"
      "wDGgL-x-UBG-hDWQL--C-UBG-YDeIL--K-UBG-sDKcL-1-UBG-dDZNL--F-UBG-VDiEL--O-UBG-oDOYL-5c3BG-"
      "ZDdJL--J-UBG-tDJdL-0-UBG-lDSUL-9-UBG-cDaML--G-UBG-pDNZL-4-UBG-hDVRL--B-UBG-ZDeIL--K-UBG-"
      "sDKcL-1-UBG-dDZNL--F-UBG-VDhFL--N-UBG-pDOYL-5-UBG-ZDdJL--J-UBG-tDJdL-0-UBG-lDRVL-8-UBG-"
      "WDhFL--N-UBG-pDNZL-4-UBG-hDVRL--B-UBG-SDkCL--Q-UBG-mDRVL-8-UBG-dDZNL--F-UBG-xDFhL-w-UBG-"
      "iDUSL--A-UBG-aDdJL--J-UB" },
    { "ES", "Spain",
      "----------------------------------------------------------------------------------------"
      "----------------W-Rp-r-PjCRHF-fV-r65RHF-Xd--mUjCRHF-r-06UjCd-cZ-r6UjCRH-Yh-r6UjTHF-nN-r-"
      "PjCRHF-Yc-r65RHF-Q--R6UjCd-jR-r6UjCRHF-Ug-r6UjCRH-tM-r6UjTHF-gV-r65RHF-Xd--"
      "mUjCRHF-k-76UjCd-cY-r6UjCRHF-Uh-r6UjTHF-nN-r-PjCRHF-Yc-r65RHF-Qk--mUjCRHF-kR-r6UjCRHF-"
      "Ug-r6UjCRH-tM-r6UjTHF-gU-r-PjCRHF-Rk--mUjCRHF-k-76UjCd-cY-r6UjCRHF-Nn-r6UjCRH-mU-r-"
      "PjCRHF-Yc-r65RHF-sI--mUjCRHF-d--D6UjCd-Vg-r6UjCR" },
    { "FR", "France",
      "A-qPHQLog-PKsH-beHBL3g-PKsH-vLHULkg-PKsH-mTHMLsg-PKsH-ebHEL0g-PKsH-rOHRLng-PKsH-jXHILwg-"
      "PKsH-afHL4g-PKsH-nSHNLrg-PKsH-faHFLzg-PKsH-zHHYLgg-PKsH-qPHQLog-PKsH-beHBL3g-PKsH-"
      "vKHVLjg-PKsH-nTHMLsg-PKsH-XiED-Eg-PKsH-rOHRyg-PKsH-jWHJ6g-PKsH-UmHE-Ag-PKsH-nSHNLrg-"
      "PKsH-faHFLzg-PKsH-zGHZLfg-PKsH-kWHJLvg-PKsH-beHBL3g-PKsH-vKHVLjg-PKsH-gZHGLyg-PKsH-"
      "YiEDI7g-PKsH-rOHRLng-PKsH-cdHCL2g-PKsH-wJHWLig-PKsH-oSHNLrg-PKsH-faHFLzg-PKsH-sNHSLmg-"
      "PKsH-kVHKLug-PKsH-ceHBL3g-PKsH-vKHVLjg-PKsH-gZHGLyg-PKsH-YhFCJ6g-PKsH-sOHRLng-PKsH-"
      "cdHCL2g-PKsH-wJHWLig-PKsH-oRHOLqg-PKsH-ZhFCJ6g-PKsH-sNHSLmg-PKsH-kVHKLug-PKsH-"
      "VkCFG9g-PKsH-pRHOLqg-PKsH-gZHGLyg-PKsH-0FHaLeg-PKsH-lUHLLtg-PKsH-ddHCL2g-PKs" },
    { "GB", "United Kingdom",
      "A-nYV---WBG-YmV---XBG-sRV---ZBCE-jYc---TBBBEC-Zfc---UBBFB-nYV---VBG-gfV---XBG-XmV---YBG-"
      "kYV---ZBCE-cfc---TBBBDBC-uKc---VBG-nYV---WBG-YmcB---PBG-sRV---YBG-kYc---TBBBEC-Smc---"
      "UBBFB-nRc---VBG-gfV---WBG-RtV---YBG-kYV---ZBCE-cfc---TBBBEC-uHDc---UBBFB-gfcB---OBG-YmV"
      "---XBG-sRV---YBG-dfV---ZBCE-Vmc---UBBFB-nRc---VBG-ZmV---WBG-tRV---XBG-lcR---ZBCE-cfc---"
      "TBBBEC-nRfB-t-iBBFB-gYHV---VBG-ZmV---XBG-sRV---YBG-dfV---ZBCE-Vmc---TBBBEC-nRc---VBG-ZmV"
      "---WBG-tRV---XBG-lYV---YBG-Wmc---TBBBEC-nRc---UBBFB-gYc---VBG-StV---WBG-mYV---YBG-dfV---"
      "ZBCE-xKc---TBBBEC-gYc---UBBFB-ZmV---WB" },
    { "IT", "Italy",
      "AF-kBJGh-K-PDiRBGF-VBYGg-L-PCjRBGF-pBFGl-G-PlRBGF-gBNGk-H-PGfRBGF-YBVGj-I-PFgRBGF-lBIGi-"
      "J-PEhRBGF-dBRGg-L-PCjRBGF-UBZGf-M-PBkRBGF-hBMGl-G-PlRBGF-ZBUGk-H-PGfRBGF-tBBGi-J-"
      "PEhRBGF-kBJGg-L-PDiRBGF-VBYGg-L-PCjRBGF-pBEGg-L-PBkRBGF-hBNGg-L-PGfRBGF-RBcGg-L-PFgRBGF-"
      "lBIGg-L-PEhRBGF-dBQGg-L-PDiRBGF-OBgGg-L-PBkRBGF-hBMGg-L-PlRBGF-ZBUGg-L-PGfRBGF-HmBGg-L-"
      "PFgRBGF-eBQGg-L-PDiRBGF-VBYGg-L-PCjRBGF-pBEGg-L-PBkRBGF-aBTGg-L-PlRBGF-SBcGg-L-PFgRBGF-"
      "lBIGg-L-PEhRBGF-WBXGg-L-PDiRBGF-qBDGg-L-PCjRBGF-iBMGg-L-PlRBGF-ZBUGg-L-PGfRBGF-mBHGg-L-"
      "PFgRBGF-eBPGg-L-PEhRBGF-WBYGg-L-PCjRBGF-pBEGg-L-PBkRBGF-aBTGg-LyclRBGF-SBbGg-LycGfRBGF-"
      "mBIGg-LycEhRBGF-WBXGg-LycDiRBGF-qBDGg-LycCjRBGF-iBLGg-LycBkRBGF-TBbGg-LycGfRBGF-mBHGg-"
      "LycFgRBGF-eBPGg-LycEhRBGF-PBeGg-LycDiRBGF-jBLGg-LycBkRBGF-aBTGg-LyclRBGF-uBFg-LycGfRBGF-"
      "fBOGg-LycFgRBGF-XBXGg-LycDiRB" },
    { "JP", "Japan",
      "AObBlnBDBB--HIBQYJLeBIObmnEBBB--GBHRYBTeJObmoEBB--HIRYUeJObloEBBj-jIRBXUeJObmnEBB--"
      "HIRYUeJBNBamnEBB--HIRYUeJObBloEBBB-M5BHRYBTeJObloEC-NB4IRYUBdJObmnEBB-N5IRYUeJObmBmEBB-"
      "N5IRBXUeJJgmoEBB-N5IQZUeJHiBkoBDBB-N5IBOaUeBINcmnEBBB-M5BHVUBTeJMdmnEC-O4IUVUBdJLemoEBB-"
      "M-ADSXUeJJglBnEBB-L-AERYUeJBHhmnEBB-K-AFQZUeJHiBlnBDBB-J-"
      "AGBOaUeBINcmoEBBB-N4IUVUBdJLeloEBBB-M-ABBTWUeJKfmBmEBB-M-ADSXUeJJgmnEBB-L-"
      "AERYUeJBHhmoBDBB-J-AFQaUeBINcloEBBB-H-AHVUBTeJMdmnEBBB-N4IUVUBdJLemnEBBB-M-"
      "ABBTWUeJKfmBnEBB-LYnDSYUeJBHhloEBB-KZmFQZUeJHiBlnBDBB-JalGBOaUeBINcmnBBBBBBB-"
      "HbBjHVIMBTnMdMBZoEBBB-PBRqBqUnKfMZoEBB-PBQBqDpUnJgManEBB-LYnERYUnBHhManEBB-"
      "KZmFQZUnHiBLaoEBBB-HbBjGBVUBTnMdMBYoEBBB-NVjIUVUBmLeMZoEBBB-MWpBBTWUnKfMaBmEBB-"
      "MXoDSXUnJgMaoEBB-KZmERZUnHiBLZoBDBB-JalGBOaUnNcMZoEBBB-HbBjHVUBTnMdMBZnEBBB-"
      "NVjIUVUBmLeMaoEBB-MXoBBTXUnJgMZBnEBB-LYnERYUnBHhMZoEBB-KZmFQZUnHiBLanBDBB-"
      "JalGBOaUnNcMaoEBBB-NVjHVVUBmLeMZoEBBB-MWpBBTWUnKfMZoEBB-MXoDSXUnJgManEBB-"
      "LYnERYUnBHhMaoBDBB-JalFQaU" },
    { "NL", "Netherlands",
      "A-nCBOFTKB---PBG-YCBdJKB---eBG-sCBKcKB---LBG-jCBSUKB---TBG-bCBaMKB---bBG-oCBMGUKB---OBG-"
      "gCBWQKB---XBG-XCBeIKB---fBG-kCBRVKB---SBG-cCBZNKB---aBG-wCBFGbKB---HBG-nCBOYKB---PBG-"
      "YCBdJKB---eBG-sCBJdKB---KBG-kCBSUKB---TBG-UCBhFKB---iBG-oCBMaKB---OBG-gCBVRKB---WBG-"
      "RCBlBKB---mBG-kCBRVKB---SBG-cCBZFIKB---aBG-wCBFhKB---GBG-hCBVRKB---WBG-YCBdJKB---eBG-"
      "sCBFhKB---KBG-dCBVIJKB---ZBG-VCBeIKB---iBG-oCBKcKB---OBG-ZCBZNKB---dBG-tCBFhKB---JBG-"
      "lCBOIQKB---SBG-cCBWQKB---aBG-pCBJdKB---NBG-hCBRVKB---VBG-ZCBaMKB---eBG-sCBFJYKB---KBG-"
      "dCBVRKB---ZBG-VCBdJKB---hBG-pCBKcKB---OBG-ZCBZNKB---dBG-tCBFIZKB---JBG-lCBMaKB---RBG-"
      "WCBdJKB---hBG-pCBJdKB---NBG-hCBRVKB---VBG-SCBgGCIB---kBG-mCBMaKB---RBG-dCBVRKB---ZBG-"
      "xCBBlKB---FBG-iCBQWKB---UBG-aCBZIFKB---dB" },
    { "US", "United States",
      "AOj-jl9jiBKhHUc-jm8qcRbHTc-jnB-CjePdHRc-qiB-AjfOdBGBQj-jj-AjgNfBGBOj-jk+jgBMgHOj-"
      "jm8qcRbHTc-jn7qdQcHSc-jnB-CjePdHRc-qiB-AjfOdBGBQj-jk+jgBMgHOj-jl9jiBKhHUc-jm8qcRbHTc-"
      "jn7qdQcHSc-qiB-AjfOdBGBQj-jj-AjgNfBGBOj-jk+jgBMgHOj-jl9jiBKhHUc-jn7qdQcHSc-jnB-CjePdHRc-"
      "qiB-AjfOdBGBQj-jj-AjgNfBGBOj-jl9jiBKhHUc-jm8qcRbHTc-jn7qdQcHSc-jnB-CjePdHRc-qj-"
      "AjgNfBGBOj-jk+jgBMgHOj-jl9jiBKhHUc-jm8qcRbHTc-jnB-CjePdHRc-qSBPB-AjfOdBGBQj-jUBO-"
      "AjgNfBGBOj-jVP+jgBMgHOj-jXP8qcRbHTc-jYP7qdQcHSc-jZOB-CjePdHRc-qSBPB-AjfOdBGBQj-"
      "jVP+jgBMgHOj-jWP9jiBKhHUc-jXP8qcRbHTc-jYP7qdQcHSc-qSBPB-AjfOdBGBQj-jUBO-AjgNfBGBOj-"
      "jVP+jgBMgHOj-jWP9jiBKhHUc-jYP7qdQcHSc-jZOB-CjePdHRc-qSBPB-AjfOdBGBQj-jUBO-AjgNfBGBOj-"
      "jWP9jiBKh" },
};
